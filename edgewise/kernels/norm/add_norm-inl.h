// SPDX-License-Identifier: Apache-2.0
// What the kernels of add_norm.h share. Included once for each instruction set.
#if defined(EDGEWISE_KERNELS_CPU_ADD_NORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_ADD_NORM_INL_H
#undef EDGEWISE_KERNELS_CPU_ADD_NORM_INL_H
#else
#define EDGEWISE_KERNELS_CPU_ADD_NORM_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "edgewise/kernels/simd/cast-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE Floats first_lanes(AllLanes /*part*/, Floats values) { return values; }
HWY_INLINE Floats first_lanes(FirstLanes part, Floats values) {
  return hn::IfThenElseZero(hn::FirstN(FloatTag(), part.count), values);
}

HWY_INLINE float sum_of_lanes(Floats values) { return hn::GetLane(hn::SumOfLanes(FloatTag(), values)); }

/// Zeros, combined with value(i, part) of vector after vector of `count` values, in an order that depends on count
/// alone.
template <class Value, class Combine>
HWY_INLINE Floats combined_lanes(std::int64_t count, Value&& value, Combine&& combine) {
  // Four results, because a step may start before the one before it has ended.
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
  Floats all_0 = hn::Zero(FloatTag());
  Floats all_1 = all_0;
  Floats all_2 = all_0;
  Floats all_3 = all_0;
  std::int64_t begin = 0;
  for (; begin + 4 * lanes <= count; begin += 4 * lanes) {
    all_0 = combine(all_0, value(begin, AllLanes()));
    all_1 = combine(all_1, value(begin + lanes, AllLanes()));
    all_2 = combine(all_2, value(begin + 2 * lanes, AllLanes()));
    all_3 = combine(all_3, value(begin + 3 * lanes, AllLanes()));
  }
  for_lanes(count - begin, [&](std::int64_t i, auto part)
                               HWY_ATTR { all_0 = combine(all_0, first_lanes(part, value(begin + i, part))); });
  return combine(combine(all_0, all_1), combine(all_2, all_3));
}

/// The sum of value(i, part) over vector after vector of `count` values.
template <class Value>
HWY_INLINE float sum_lanes(std::int64_t count, Value&& value) {
  return sum_of_lanes(combined_lanes(count, value, [](Floats a, Floats b) HWY_ATTR { return hn::Add(a, b); }));
}

/// The largest |value(i, part)|.
template <class Value>
HWY_INLINE float size_of_lanes(std::int64_t count, Value&& value) {
  const Floats largest = combined_lanes(
      count, value, [](Floats so_far, Floats values) HWY_ATTR { return hn::Max(so_far, hn::Abs(values)); });
  return hn::GetLane(hn::MaxOfLanes(FloatTag(), largest));
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_ADD_NORM_INL_H
