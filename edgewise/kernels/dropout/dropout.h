// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/device/stream.h"
#include "edgewise/graph/relation_view.h"

// Dropout factors are functions of seed, stream and index. Backward recomputes the factors, so that no mask is stored.
namespace edgewise::kernels {

struct Dropout {
  double rate = 0.0;       // probability of dropping a value
  std::uint64_t seed = 0;  // seed and stream of philox() (base/random.h)
  std::uint64_t stream = 0;
};

/// Computes the factor of a value from 32 random bits: 0 if the bits are below rate * 2^32, otherwise 1 / (1 - rate).
/// The constructor is for the host; device code receives the rule as a member of its kernel.
template <typename T>
class DropoutRule {
 public:
  explicit DropoutRule(const Dropout& dropout)
      : threshold_(static_cast<std::uint32_t>(std::min(std::ldexp(dropout.rate, 32), 0xFFFFFFFFp0))),
        scale_(static_cast<T>(1.0 / (1.0 - dropout.rate))) {}

  constexpr bool is_identity() const { return threshold_ == 0; }
  constexpr std::uint32_t threshold() const { return threshold_; }
  constexpr T scale() const { return scale_; }
  constexpr T factor(std::uint32_t bits) const { return static_cast<T>(bits >= threshold_) * scale_; }

 private:
  std::uint32_t threshold_;
  T scale_;
};

/// Writes out[i] = in[i] * factor of value i, whose random bits are word i % 4 of Philox block i / 4. `in` and `out`
/// may be equal. From and To are float or BFloat16, or both are double. With a rate of 0 this is a copy or a cast.
template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out);

/// Converts values to another type. From and To are float or BFloat16.
template <typename From, typename To>
void cast(std::int64_t count, const From* in, To* out) {
  dropout(Dropout{.rate = 0.0}, count, in, out);
}

/// Begins dropout() on a GPU in `stream`. From and To are float or BFloat16; `in` and `out` are multiples of 16 bytes
/// in memory of the device. The results have the bits of the CPU, except that every NaN of BFloat16 may be another NaN.
/// A count that is a multiple of 4 is fastest.
template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out, device::Stream stream);

namespace reference {

/// Computes the factors of the edges of one head. The random bits of edge e are word e % 4 of Philox block
/// (e / 4) * heads + head. With a single head the factors are equal to the factors of a flat array.
template <typename T>
class EdgeDropout {
 public:
  EdgeDropout(const Dropout& dropout, std::int64_t head, std::int64_t num_heads)
      : rule_(dropout), seed_(dropout.seed), stream_(dropout.stream), head_(head), num_heads_(num_heads) {}

  /// Returns the factor of an edge. Ascending edges are fastest, because four consecutive edges share a block.
  T factor(EdgeIndex edge) {
    if (rule_.is_identity()) return T{1};
    if (edge / 4 != quad_) {
      quad_ = edge / 4;
      block_ = philox(seed_, stream_, static_cast<std::uint64_t>(quad_ * num_heads_ + head_));
    }
    return rule_.factor(block_[static_cast<std::size_t>(edge % 4)]);
  }

 private:
  DropoutRule<T> rule_;
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::int64_t head_;
  std::int64_t num_heads_;
  std::int64_t quad_ = -1;
  std::array<std::uint32_t, 4> block_{};
};

/// Computes kernels::dropout() in plain loops.
template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out);

}  // namespace reference

}  // namespace edgewise::kernels
