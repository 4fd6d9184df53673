// SPDX-License-Identifier: Apache-2.0
// Softmax over the contiguous scores of one row. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_ATTENTION_ROW_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_ATTENTION_ROW_SOFTMAX_INL_H
#undef EDGEWISE_KERNELS_ATTENTION_ROW_SOFTMAX_INL_H
#else
#define EDGEWISE_KERNELS_ATTENTION_ROW_SOFTMAX_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "edgewise/kernels/attention/row_loops-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Turns the `count` scores of a row, followed by -inf up to whole vectors, into exp(score - base). Returns the sum.
HWY_INLINE float exponentiate(float* score, std::int64_t count, float base) {
  const FloatTag d;
  // If base is -inf, all scores are -inf: a base of 0 then gives 0, not NaN.
  const auto bases = hn::Set(d, base == kMinusInfinity ? 0.0f : base);
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto weight = exp_lanes(hn::Sub(hn::LoadU(d, score + i), bases));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, score + i);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

struct SoftmaxNormalizer {
  float normalizer;      // 1 / sum of exp(score - maximum), or 0 if the sum is 0
  float log_normalizer;  // log(sum of exp(score))
};

/// Turns the `count` scores of a row, followed by -inf up to whole vectors, into exp(score - maximum).
HWY_INLINE SoftmaxNormalizer exponentiate(float* score, std::int64_t count) {
  const FloatTag d;
  auto largest = hn::Set(d, kMinusInfinity);
  for (std::int64_t i = 0; i < count; i += kLanes) largest = hn::Max(largest, hn::LoadU(d, score + i));
  const float maximum = hn::GetLane(hn::MaxOfLanes(d, largest));
  const float total = exponentiate(score, count, maximum);
  return {total == 0 ? 0.0f : 1 / total, maximum + std::log(total)};
}

/// Computes a[i] *= b[i] for `count` values, rounded up to whole vectors.
HWY_INLINE void multiply_in_place(float* a, const float* b, std::int64_t count) {
  const FloatTag d;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, a + i);
  }
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_ATTENTION_ROW_SOFTMAX_INL_H
