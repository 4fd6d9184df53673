// SPDX-License-Identifier: Apache-2.0
// Lanes from products of 8-bit matrices, and to what such a product reads. Included once for each instruction set.
#if defined(EDGEWISE_KERNELS_CPU_SCALED_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_SCALED_SUMS_INL_H
#undef EDGEWISE_KERNELS_CPU_SCALED_SUMS_INL_H
#else
#define EDGEWISE_KERNELS_CPU_SCALED_SUMS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "edgewise/kernels/cpu/cast-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// sums * (row_scale * column_scale)
HWY_INLINE Floats scaled_sums(AllLanes part, const std::int32_t* sums, float row_scale, const float* column_scale) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  const Floats scale = hn::Mul(hn::Set(d, row_scale), load(part, column_scale));
  return hn::Mul(hn::ConvertTo(d, hn::LoadU(d32, sums)), scale);
}

HWY_INLINE Floats scaled_sums(FirstLanes part, const std::int32_t* sums, float row_scale, const float* column_scale) {
  HWY_ALIGN std::int32_t room[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN float scales[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(room, sums, part.count * sizeof(std::int32_t));
  std::memcpy(scales, column_scale, part.count * sizeof(float));
  return scaled_sums(AllLanes(), room, row_scale, scales);
}

/// Rounds to nearest, ties to even.
HWY_INLINE void store_int8(AllLanes /*part*/, Floats values, std::int8_t* to) {
  const hn::Rebind<std::int8_t, FloatTag> d8;
  hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(values)), d8, to);
}

HWY_INLINE void store_int8(FirstLanes part, Floats values, std::int8_t* to) {
  HWY_ALIGN std::int8_t room[HWY_MAX_BYTES / sizeof(float)];
  store_int8(AllLanes(), values, room);
  std::memcpy(to, room, part.count);
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_SCALED_SUMS_INL_H
