// SPDX-License-Identifier: Apache-2.0
// Functions that load vectors of floats from memory of float or bf16, and store them there: whole vectors, and the
// partial vector at the end of an array. Sums and maxima over such vectors. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_SIMD_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_SIMD_VECTORS_INL_H
#undef EDGEWISE_KERNELS_SIMD_VECTORS_INL_H
#else
#define EDGEWISE_KERNELS_SIMD_VECTORS_INL_H
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
inline constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(FloatTag()));

/// Rounds a number of floats up to a multiple of the vector size.
constexpr std::int64_t padded_size(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

/// Tags for the part of a vector to load or store: all lanes, or the first `count` lanes.
struct AllLanes {};
struct FirstLanes {
  std::size_t count;
};

HWY_INLINE Floats load(AllLanes /*part*/, const float* from) { return hn::LoadU(FloatTag(), from); }

using Bf16BitsTag = hn::Rebind<std::uint16_t, FloatTag>;

HWY_INLINE Floats floats_of_bf16(hn::Vec<Bf16BitsTag> bits) {
  const hn::RebindToUnsigned<FloatTag> d32;
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}

HWY_INLINE Floats load(AllLanes /*part*/, const BFloat16* from) {
  return floats_of_bf16(hn::LoadU(Bf16BitsTag(), reinterpret_cast<const std::uint16_t*>(from)));
}

HWY_INLINE void store(AllLanes /*part*/, Floats values, float* to) { hn::StoreU(values, FloatTag(), to); }

/// Rounds the values to bf16, as BFloat16(float) does.
HWY_INLINE hn::Vec<Bf16BitsTag> bf16_of_floats(Floats values) {
  const hn::RebindToUnsigned<FloatTag> d32;
  const auto bits = hn::BitCast(d32, values);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto rounding = hn::Add(hn::Set(d32, 0x7FFF), hn::And(upper, hn::Set(d32, 1)));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, rounding));
  const auto is_nan = hn::RebindMask(d32, hn::IsNaN(values));  // hn::Ne(NaN, NaN) is false on x86
  const auto result = hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(d32, 0x40)), rounded);
  return hn::TruncateTo(Bf16BitsTag(), result);
}

HWY_INLINE void store(AllLanes /*part*/, Floats values, BFloat16* to) {
  hn::StoreU(bf16_of_floats(values), Bf16BitsTag(), reinterpret_cast<std::uint16_t*>(to));
}

/// Loads the first lanes and sets the other lanes to zero.
template <typename T>
HWY_INLINE Floats load(FirstLanes part, const T* from) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(buffer, from, part.count * sizeof(T));
  return load(AllLanes(), buffer);
}

template <typename T>
HWY_INLINE void store(FirstLanes part, Floats values, T* to) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)];
  store(AllLanes(), values, buffer);
  std::memcpy(to, buffer, part.count * sizeof(T));
}

// Loads and stores with masks access no memory beyond the first lanes, and are faster than copies whose size is a
// variable.
#if HWY_TARGET == HWY_AVX3
HWY_INLINE Floats load(FirstLanes part, const float* from) {
  return hn::MaskedLoad(hn::FirstN(FloatTag(), part.count), FloatTag(), from);
}

HWY_INLINE Floats load(FirstLanes part, const BFloat16* from) {
  const Bf16BitsTag d;
  return floats_of_bf16(hn::MaskedLoad(hn::FirstN(d, part.count), d, reinterpret_cast<const std::uint16_t*>(from)));
}

HWY_INLINE void store(FirstLanes part, Floats values, float* to) {
  hn::BlendedStore(values, hn::FirstN(FloatTag(), part.count), FloatTag(), to);
}

HWY_INLINE void store(FirstLanes part, Floats values, BFloat16* to) {
  const Bf16BitsTag d;
  hn::BlendedStore(bf16_of_floats(values), hn::FirstN(d, part.count), d, reinterpret_cast<std::uint16_t*>(to));
}
#endif

/// Calls body(index of the first value, AllLanes or FirstLanes) for each vector of `count` values.
template <class Body>
HWY_INLINE void for_each_vector(std::int64_t count, Body&& body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, AllLanes());
  if (i < count) body(i, FirstLanes{static_cast<std::size_t>(count - i)});
}

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

#endif  // EDGEWISE_KERNELS_SIMD_VECTORS_INL_H
