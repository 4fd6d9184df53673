// SPDX-License-Identifier: Apache-2.0
// Activations and their derivatives in vectors. GELU and SiLU are x F(x), where F is a distribution function: of the
// normal and of the logistic distribution; GELU by tanh is x F(u(x)) with the logistic one. Both distributions are
// symmetric: F is `tail` for a negative x and 1 - tail for another x, where `tail` is the probability of numbers beyond
// |x|, which takes an exponential that cannot overflow. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_GEMM_ACTIVATION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_GEMM_ACTIVATION_INL_H
#undef EDGEWISE_KERNELS_GEMM_ACTIVATION_INL_H
#else
#define EDGEWISE_KERNELS_GEMM_ACTIVATION_INL_H
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// A distribution function and its density.
struct DistributionLanes {
  Floats function;
  Floats density;
};

HWY_INLINE Floats function_from_tail(Floats x, Floats tail) {
  const FloatTag d;
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
}

/// Computes the normal distribution. The relative error of the tail is at most 1e-6 for |x| up to 5.
HWY_INLINE DistributionLanes normal_distribution(Floats x) {
  const FloatTag d;
  const Floats magnitude = hn::Abs(x);
  // (1 - Phi(a)) exp(a^2 / 2) = t p(t) with t = 1 / (1 + 0.3 a), where p is interpolated at Chebyshev's nodes for a up
  // to 13.3. Beyond, exp_lanes() returns 0.
  const Floats t = hn::Div(hn::Set(d, 1.0f), hn::MulAdd(magnitude, hn::Set(d, 0.3f), hn::Set(d, 1.0f)));
  Floats p = hn::MulAdd(hn::Set(d, 0x1.34005p-5f), t, hn::Set(d, -0x1.523154p-3f));
  p = hn::MulAdd(p, t, hn::Set(d, 0x1.c242d6p-3f));
  p = hn::MulAdd(p, t, hn::Set(d, -0x1.0e110ap-4f));
  p = hn::MulAdd(p, t, hn::Set(d, 0x1.145836p-3f));
  p = hn::MulAdd(p, t, hn::Set(d, 0x1.917e94p-4f));
  p = hn::MulAdd(p, t, hn::Set(d, 0x1.efd232p-4f));
  p = hn::MulAdd(p, t, hn::Set(d, 0x1.e9ecb6p-4f));
  const Floats exponential = exp_lanes(hn::Mul(hn::Mul(magnitude, magnitude), hn::Set(d, -0.5f)));
  const Floats density_at_zero = hn::Set(d, 0x1.988454p-2f);  // 1 / sqrt(2 pi)
  return {function_from_tail(x, hn::Mul(hn::Mul(p, t), exponential)), hn::Mul(exponential, density_at_zero)};
}

HWY_INLINE DistributionLanes logistic_distribution(Floats x) {
  const Floats exponential = exp_lanes(hn::Neg(hn::Abs(x)));
  const Floats sum = hn::Add(exponential, hn::Set(FloatTag(), 1.0f));
  const Floats tail = hn::Div(exponential, sum);
  return {function_from_tail(x, tail), hn::Div(tail, sum)};
}

/// Computes the logistic distribution at u(x) = sqrt(8 / pi) (x + 0.044715 x^3), and its derivative in x. Beyond 12,
/// the tail is 0.
HWY_INLINE DistributionLanes tanh_distribution(Floats x) {
  const FloatTag d;
  constexpr float kFactor = 0x1.988454p+0f;  // sqrt(8 / pi)
  constexpr float kCubic = 0.044715f;
  const Floats bounded = hn::Min(hn::Max(x, hn::Set(d, -12.0f)), hn::Set(d, 12.0f));
  const Floats square = hn::Mul(bounded, bounded);
  const Floats u = hn::Mul(bounded, hn::MulAdd(square, hn::Set(d, kFactor * kCubic), hn::Set(d, kFactor)));
  const Floats slope = hn::MulAdd(square, hn::Set(d, 3 * kFactor * kCubic), hn::Set(d, kFactor));
  const DistributionLanes logistic = logistic_distribution(u);
  return {logistic.function, hn::Mul(logistic.density, slope)};
}

/// The value of an activation and its derivative.
struct ActivatedLanes {
  Floats value;
  Floats derivative;
};

HWY_INLINE ActivatedLanes multiply_by_distribution(Floats x, const DistributionLanes& at) {
  return {hn::Mul(x, at.function), hn::MulAdd(x, at.density, at.function)};
}

template <GemmActivation kActivation>
HWY_INLINE ActivatedLanes activate_lanes(Floats x) {
  const FloatTag d;
  if constexpr (kActivation == GemmActivation::kNone) {
    return {x, hn::Set(d, 1.0f)};
  } else if constexpr (kActivation == GemmActivation::kRelu) {
    return {hn::Max(x, hn::Zero(d)), hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f))};
  } else if constexpr (kActivation == GemmActivation::kGelu) {
    return multiply_by_distribution(x, normal_distribution(x));
  } else if constexpr (kActivation == GemmActivation::kGeluTanh) {
    return multiply_by_distribution(x, tanh_distribution(x));
  } else {
    return multiply_by_distribution(x, logistic_distribution(x));
  }
}

/// Calls fn(std::integral_constant<GemmActivation, activation>()).
template <class Fn>
HWY_INLINE void with_activation(GemmActivation activation, Fn fn) {
  switch (activation) {
    case GemmActivation::kNone:
      return fn(std::integral_constant<GemmActivation, GemmActivation::kNone>());
    case GemmActivation::kRelu:
      return fn(std::integral_constant<GemmActivation, GemmActivation::kRelu>());
    case GemmActivation::kGelu:
      return fn(std::integral_constant<GemmActivation, GemmActivation::kGelu>());
    case GemmActivation::kSilu:
      return fn(std::integral_constant<GemmActivation, GemmActivation::kSilu>());
    case GemmActivation::kGeluTanh:
      return fn(std::integral_constant<GemmActivation, GemmActivation::kGeluTanh>());
  }
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_GEMM_ACTIVATION_INL_H
