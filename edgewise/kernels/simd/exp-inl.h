// SPDX-License-Identifier: Apache-2.0
// A fast exp() of vectors for softmax, and Highway's math functions. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_SIMD_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_SIMD_EXP_INL_H
#undef EDGEWISE_KERNELS_SIMD_EXP_INL_H
#else
#define EDGEWISE_KERNELS_SIMD_EXP_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Returns exp(x) for x up to 88, with an error of at most 2 units in the last place. Returns 0 for x < -87, and NaN
/// for NaN. Takes fewer instructions than hn::Exp.
HWY_INLINE Floats exp_lanes(Floats x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  // x = n log(2) + r with |r| <= log(2) / 2. Adding 1.5 * 2^23 to x / log(2) rounds it to n, in the low bits.
  const auto shift = hn::Set(d, 0x1.8p23f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p0f), shift);
  const auto n = hn::Sub(shifted, shift);
  // Subtracts n log(2) in two parts, of which the first product is exact.
  auto r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.7f7d1cp-20f), r);
  // exp(r) = 1 + r + r^2 / 2 + r^3 q(r), where q is (exp(r) - 1 - r - r^2 / 2) / r^3 interpolated at Chebyshev's nodes.
  auto power = hn::MulAdd(hn::Set(d, 0x1.6cdf4ep-10f), r, hn::Set(d, 0x1.11d9aep-7f));
  power = hn::MulAdd(power, r, hn::Set(d, 0x1.55553ep-5f));
  power = hn::MulAdd(power, r, hn::Set(d, 0x1.555526p-3f));
  power = hn::MulAdd(power, r, hn::Set(d, 0.5f));
  power = hn::MulAdd(power, r, hn::Set(d, 1.0f));
  power = hn::MulAdd(power, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(d32, shifted));
  const auto result = hn::BitCast(d, hn::Add(hn::BitCast(d32, power), exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), result);
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_SIMD_EXP_INL_H
