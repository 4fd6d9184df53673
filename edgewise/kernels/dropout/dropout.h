// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace edgewise::kernels {

struct Dropout {
  double rate = 0.0;  // 0 means none
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// What becomes of a value, given its 32 random bits: it is kept, and grows by 1 / (1 - rate), unless they are below
/// rate * 2^32.
template <typename T>
class DropoutRule {
 public:
  explicit DropoutRule(const Dropout& dropout)
      : threshold_(static_cast<std::uint32_t>(std::min(std::ldexp(dropout.rate, 32), 0xFFFFFFFFp0))),
        growth_(static_cast<T>(1.0 / (1.0 - dropout.rate))) {}

  bool drops_nothing() const { return threshold_ == 0; }
  std::uint32_t threshold() const { return threshold_; }
  T growth() const { return growth_; }
  T factor(std::uint32_t bits) const { return static_cast<T>(bits >= threshold_) * growth_; }

 private:
  std::uint32_t threshold_;
  T growth_;
};

/// out[i] = in[i] * factor of value i, which has word i % 4 of Philox block i / 4. `in` and `out` may be the same.
/// From and To are float or BFloat16, or both are double. A rate of 0 makes it a copy, or a cast.
template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out);

}  // namespace edgewise::kernels
