// SPDX-License-Identifier: Apache-2.0
// Lanes of floats from and to memory that holds float or bf16, whole vectors and what is left behind them. Included
// once for each instruction set.
#if defined(EDGEWISE_KERNELS_CPU_CAST_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_CAST_INL_H
#undef EDGEWISE_KERNELS_CPU_CAST_INL_H
#else
#define EDGEWISE_KERNELS_CPU_CAST_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "edgewise/base/bfloat16.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;

/// How many lanes of a vector there are in memory.
struct AllLanes {};
struct FirstLanes {
  std::size_t count;
};

HWY_INLINE Floats load(AllLanes /*part*/, const float* from) { return hn::LoadU(FloatTag(), from); }

HWY_INLINE Floats load(AllLanes /*part*/, const BFloat16* from) {
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::Rebind<std::uint16_t, FloatTag> d16;
  const auto bits = hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(from));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}

HWY_INLINE void store(AllLanes /*part*/, Floats values, float* to) { hn::StoreU(values, FloatTag(), to); }

/// Rounds as BFloat16 does, in the same bits.
HWY_INLINE void store(AllLanes /*part*/, Floats values, BFloat16* to) {
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::Rebind<std::uint16_t, FloatTag> d16;
  const auto bits = hn::BitCast(d32, values);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto rounding = hn::Add(hn::Set(d32, 0x7FFF), hn::And(upper, hn::Set(d32, 1)));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, rounding));
  const auto is_nan = hn::RebindMask(d32, hn::IsNaN(values));  // Ne() of a NaN and itself is false on x86
  const auto result = hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(d32, 0x40)), rounded);
  hn::StoreU(hn::TruncateTo(d16, result), d16, reinterpret_cast<std::uint16_t*>(to));
}

/// Lanes beyond the part are zero.
template <typename T>
HWY_INLINE Floats load(FirstLanes part, const T* from) {
  HWY_ALIGN T room[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(room, from, part.count * sizeof(T));
  return load(AllLanes(), room);
}

template <typename T>
HWY_INLINE void store(FirstLanes part, Floats values, T* to) {
  HWY_ALIGN T room[HWY_MAX_BYTES / sizeof(float)];
  store(AllLanes(), values, room);
  std::memcpy(to, room, part.count * sizeof(T));
}

/// Calls body(index, part) for vector after vector of `count` values.
template <class Body>
HWY_INLINE void for_lanes(std::int64_t count, Body&& body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, AllLanes());
  if (i < count) body(i, FirstLanes{static_cast<std::size_t>(count - i)});
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_CAST_INL_H
