// SPDX-License-Identifier: Apache-2.0
// What losses over a softmax have in common. Included once for each instruction set.
#if defined(EDGEWISE_KERNELS_CPU_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_SOFTMAX_INL_H
#undef EDGEWISE_KERNELS_CPU_SOFTMAX_INL_H
#else
#define EDGEWISE_KERNELS_CPU_SOFTMAX_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "edgewise/kernels/simd/cast-inl.h"
#include "edgewise/kernels/loss/softmax_loss.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Values of a vector's part, and a number that changes nothing in the other lanes.
HWY_INLINE Floats with_neutral(AllLanes /*part*/, Floats values, float /*neutral*/) { return values; }
HWY_INLINE Floats with_neutral(FirstLanes part, Floats values, float neutral) {
  const FloatTag d;
  return hn::IfThenElse(hn::FirstN(d, part.count), values, hn::Set(d, neutral));
}

HWY_INLINE float sum_of(Floats values) { return hn::GetLane(hn::SumOfLanes(FloatTag(), values)); }

HWY_INLINE float maximum_of(const float* values, std::int64_t count) {
  const FloatTag d;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Floats maximum = hn::Set(d, kLowest);
  for_lanes(count, [&](std::int64_t i, auto part)
                       HWY_ATTR { maximum = hn::Max(maximum, with_neutral(part, load(part, values + i), kLowest)); });
  return hn::GetLane(hn::MaxOfLanes(d, maximum));
}

/// What is known of a row that is no ignored one. Distances are those of logits to the row's maximum.
struct SoftmaxRow {
  float of_label;    // the label's distance
  float shared;      // the sum of the distances of all words but the ignored one
  double log_total;  // logarithm of the sum of their exponentials
};

/// The divergence from the target.
inline double loss_of(const SoftmaxRow& row, const SmoothedTarget& target, std::int64_t num_words) {
  const double loss = target.entropy - target.label * (row.of_label - row.log_total);
  if (target.share <= 0) return loss;
  const auto num_shares = static_cast<double>(num_words - 1 - (target.ignored >= 0 ? 1 : 0));
  return loss - target.share * (row.shared - row.of_label - num_shares * row.log_total);
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_SOFTMAX_INL_H
