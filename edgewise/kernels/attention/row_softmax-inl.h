// SPDX-License-Identifier: Apache-2.0
// What row kernels do with the numbers of one row, which lie one after the other. Included once for each instruction
// set.
#if defined(EDGEWISE_KERNELS_CPU_ROW_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_ROW_SOFTMAX_INL_H
#undef EDGEWISE_KERNELS_CPU_ROW_SOFTMAX_INL_H
#else
#define EDGEWISE_KERNELS_CPU_ROW_SOFTMAX_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/attention/row_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Turns the `count` scores of a row, and the -inf behind them, into exp(score - base), and returns their sum.
HWY_INLINE float exponentiate(float* score, std::int64_t count, float base) {
  const FloatTag d;
  // Where the base is -inf, so are all scores.
  const auto bases = hn::Set(d, base == kMinusInfinity ? 0.0f : base);
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += kRowLanes) {
    const auto weight = exp_lanes(hn::Sub(hn::LoadU(d, score + i), bases));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, score + i);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

struct Softmax {
  float normalizer;  // times exp(score - maximum) is a weight
  float log_normalizer;
};

/// Turns them into exp(score - maximum).
HWY_INLINE Softmax exponentiate(float* score, std::int64_t count) {
  const FloatTag d;
  auto largest = hn::Set(d, kMinusInfinity);
  for (std::int64_t i = 0; i < count; i += kRowLanes) largest = hn::Max(largest, hn::LoadU(d, score + i));
  const float maximum = hn::GetLane(hn::MaxOfLanes(d, largest));
  const float total = exponentiate(score, count, maximum);
  return {total == 0 ? 0.0f : 1 / total, maximum + std::log(total)};
}

/// a[i] *= b[i]
HWY_INLINE void multiply(float* a, const float* b, std::int64_t count) {
  const FloatTag d;
  for (std::int64_t i = 0; i < count; i += kRowLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, a + i);
  }
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_ROW_SOFTMAX_INL_H
