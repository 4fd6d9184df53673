// SPDX-License-Identifier: Apache-2.0
// Parts of the softmax losses. Included once for each instruction set.
#if defined(EDGEWISE_KERNELS_LOSS_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_LOSS_SOFTMAX_INL_H
#undef EDGEWISE_KERNELS_LOSS_SOFTMAX_INL_H
#else
#define EDGEWISE_KERNELS_LOSS_SOFTMAX_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Returns the largest value of each lane.
HWY_INLINE Floats find_lane_maxima(const float* values, std::int64_t count) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Floats maxima = hn::Set(FloatTag(), kLowest);
  for_each_vector(count, [&](std::int64_t i, auto part)
                             HWY_ATTR { maxima = hn::Max(maxima, values_or(part, load(part, values + i), kLowest)); });
  return maxima;
}

HWY_INLINE float find_maximum(const float* values, std::int64_t count) {
  return max_of_lanes(find_lane_maxima(values, count));
}

/// Statistics of a row of logits, where x = logit - maximum.
struct SoftmaxRow {
  float label_x;   // x of the label
  float sum_x;     // sum of x over all tokens except the ignored one
  double log_sum;  // log of the sum of exp(x) over all tokens
};

/// Returns the KL divergence of the softmax from the target.
inline double compute_loss(const SoftmaxRow& row, const SmoothedTarget& target, std::int64_t num_tokens) {
  const double loss = target.entropy - target.label_probability * (row.label_x - row.log_sum);
  if (target.other_probability <= 0) return loss;
  const auto num_others = static_cast<double>(num_tokens - 1 - (target.ignored_token >= 0 ? 1 : 0));
  return loss - target.other_probability * (row.sum_x - row.label_x - num_others * row.log_sum);
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_LOSS_SOFTMAX_INL_H
