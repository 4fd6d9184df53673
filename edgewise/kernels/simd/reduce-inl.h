// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over vectors of floats. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_SIMD_REDUCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_SIMD_REDUCE_INL_H
#undef EDGEWISE_KERNELS_SIMD_REDUCE_INL_H
#else
#define EDGEWISE_KERNELS_SIMD_REDUCE_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "edgewise/kernels/simd/load_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Returns the values in the lanes of `part`, and `other` in all other lanes.
HWY_INLINE Floats values_or(AllLanes /*part*/, Floats values, float /*other*/) { return values; }
HWY_INLINE Floats values_or(FirstLanes part, Floats values, float other) {
  const FloatTag d;
  return hn::IfThenElse(hn::FirstN(d, part.count), values, hn::Set(d, other));
}

HWY_INLINE Floats values_or_zero(AllLanes /*part*/, Floats values) { return values; }
HWY_INLINE Floats values_or_zero(FirstLanes part, Floats values) {
  return hn::IfThenElseZero(hn::FirstN(FloatTag(), part.count), values);
}

HWY_INLINE float sum_of_lanes(Floats values) { return hn::GetLane(hn::SumOfLanes(FloatTag(), values)); }

HWY_INLINE float max_of_lanes(Floats values) { return hn::GetLane(hn::MaxOfLanes(FloatTag(), values)); }

/// Combines zeros with value(i, part) for each vector of `count` values, in an order that depends only on `count`.
/// Returns one result per lane.
template <class Value, class Combine>
HWY_INLINE Floats reduce_to_lanes(std::int64_t count, Value&& value, Combine&& combine) {
  // There are four independent results, so that an operation need not wait for the one before.
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
  Floats result_0 = hn::Zero(FloatTag());
  Floats result_1 = result_0;
  Floats result_2 = result_0;
  Floats result_3 = result_0;
  std::int64_t begin = 0;
  for (; begin + 4 * lanes <= count; begin += 4 * lanes) {
    result_0 = combine(result_0, value(begin, AllLanes()));
    result_1 = combine(result_1, value(begin + lanes, AllLanes()));
    result_2 = combine(result_2, value(begin + 2 * lanes, AllLanes()));
    result_3 = combine(result_3, value(begin + 3 * lanes, AllLanes()));
  }
  for_each_vector(count - begin, [&](std::int64_t i, auto part) HWY_ATTR {
    result_0 = combine(result_0, values_or_zero(part, value(begin + i, part)));
  });
  return combine(combine(result_0, result_1), combine(result_2, result_3));
}

/// Returns the sum of value(i, part) over `count` values.
template <class Value>
HWY_INLINE float sum_values(std::int64_t count, Value&& value) {
  return sum_of_lanes(reduce_to_lanes(count, value, [](Floats a, Floats b) HWY_ATTR { return hn::Add(a, b); }));
}

/// Returns the largest |value(i, part)| of `count` values.
template <class Value>
HWY_INLINE float max_magnitude(std::int64_t count, Value&& value) {
  return max_of_lanes(reduce_to_lanes(
      count, value, [](Floats largest, Floats values) HWY_ATTR { return hn::Max(largest, hn::Abs(values)); }));
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_SIMD_REDUCE_INL_H
