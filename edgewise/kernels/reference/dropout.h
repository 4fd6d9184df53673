// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/kernels/attention.h"

// Dropout as a function of numbers alone: backward draws again what forward drew, and nobody stores a mask.
namespace edgewise::kernels::reference {

/// What becomes of a value, given its 32 random bits: it is kept, and grows by 1 / (1 - rate), unless they are below
/// rate * 2^32.
template <typename T>
class DropoutRule {
 public:
  explicit DropoutRule(const WeightDropout& dropout)
      : threshold_(static_cast<std::uint32_t>(std::min(std::ldexp(dropout.rate, 32), 0xFFFFFFFFp0))),
        growth_(static_cast<T>(1.0 / (1.0 - dropout.rate))) {}

  bool drops_nothing() const { return threshold_ == 0; }
  T factor(std::uint32_t bits) const { return static_cast<T>(bits >= threshold_) * growth_; }

 private:
  std::uint32_t threshold_;
  T growth_;
};

/// The factors of one head's edges. Edge e has word e % 4 of block (e / 4) * heads + head: four edges of a row share a
/// block, and a flat array is a head alone.
template <typename T>
class EdgeDropout {
 public:
  EdgeDropout(const WeightDropout& dropout, std::int64_t head, std::int64_t num_heads)
      : rule_(dropout), seed_(dropout.seed), stream_(dropout.stream), head_(head), num_heads_(num_heads) {}

  /// Cheapest when asked in ascending order.
  T factor(EdgeIndex edge) {
    if (rule_.drops_nothing()) return T{1};
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

/// out[i] = in[i] * factor of value i; `in` and `out` may be the same. Value i has word i % 4 of block i / 4.
template <typename T>
void dropout(const WeightDropout& dropout, std::int64_t count, const T* in, T* out);

/// The factors by which attention multiplies its weights, [E, H].
template <typename T>
void edge_dropout_factors(const WeightDropout& dropout, std::int64_t num_edges, std::int64_t num_heads, T* factor_EH);

}  // namespace edgewise::kernels::reference
