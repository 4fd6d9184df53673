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

#include "edgewise/kernels/simd/cast-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// sums * (row_scale * column_scale) + bias
HWY_INLINE Floats scaled_sums(AllLanes part, const std::int32_t* sums, float row_scale, const float* column_scale,
                              Floats bias) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  const Floats scale = hn::Mul(hn::Set(d, row_scale), load(part, column_scale));
  return hn::MulAdd(hn::ConvertTo(d, hn::LoadU(d32, sums)), scale, bias);
}

HWY_INLINE Floats scaled_sums(FirstLanes part, const std::int32_t* sums, float row_scale, const float* column_scale,
                              Floats bias) {
  HWY_ALIGN std::int32_t room[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN float scales[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(room, sums, part.count * sizeof(std::int32_t));
  std::memcpy(scales, column_scale, part.count * sizeof(float));
  return scaled_sums(AllLanes(), room, row_scale, scales, bias);
}

/// Rounds products of at most 127 to nearest, ties to even. Adding 1.5 * 2^23 rounds to an integer, whose low bits are
/// then the lowest of the sum.
HWY_INLINE void store_int8(AllLanes /*part*/, Floats values, Floats factor, std::int8_t* to) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::Rebind<std::uint8_t, FloatTag> d8;
  const Floats shifted = hn::MulAdd(values, factor, hn::Set(d, 0x1.8p23f));
  hn::StoreU(hn::TruncateTo(d8, hn::BitCast(d32, shifted)), d8, reinterpret_cast<std::uint8_t*>(to));
}

HWY_INLINE void store_int8(FirstLanes part, Floats values, Floats factor, std::int8_t* to) {
  HWY_ALIGN std::int8_t room[HWY_MAX_BYTES / sizeof(float)];
  store_int8(AllLanes(), values, factor, room);
  std::memcpy(to, room, part.count);
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_SCALED_SUMS_INL_H
