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

#include "edgewise/kernels/cpu/cast-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE Floats first_lanes(AllLanes /*part*/, Floats values) { return values; }
HWY_INLINE Floats first_lanes(FirstLanes part, Floats values) {
  return hn::IfThenElseZero(hn::FirstN(FloatTag(), part.count), values);
}

HWY_INLINE float sum_of_lanes(Floats values) { return hn::GetLane(hn::SumOfLanes(FloatTag(), values)); }

/// The sum of value(i, part) over vector after vector of `count` values.
template <class Value>
HWY_INLINE float sum_lanes(std::int64_t count, Value&& value) {
  // Four sums, because an addition may start before the one before it has ended.
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
  Floats sum_0 = hn::Zero(FloatTag());
  Floats sum_1 = sum_0;
  Floats sum_2 = sum_0;
  Floats sum_3 = sum_0;
  std::int64_t begin = 0;
  for (; begin + 4 * lanes <= count; begin += 4 * lanes) {
    sum_0 = hn::Add(sum_0, value(begin, AllLanes()));
    sum_1 = hn::Add(sum_1, value(begin + lanes, AllLanes()));
    sum_2 = hn::Add(sum_2, value(begin + 2 * lanes, AllLanes()));
    sum_3 = hn::Add(sum_3, value(begin + 3 * lanes, AllLanes()));
  }
  for_lanes(count - begin, [&](std::int64_t i, auto part)
                               HWY_ATTR { sum_0 = hn::Add(sum_0, first_lanes(part, value(begin + i, part))); });
  return sum_of_lanes(hn::Add(hn::Add(sum_0, sum_1), hn::Add(sum_2, sum_3)));
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_ADD_NORM_INL_H
