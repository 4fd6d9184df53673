// SPDX-License-Identifier: Apache-2.0
// GELU is x times the distribution function of the normal distribution, and SiLU is x times that of the logistic
// distribution. Both distributions are symmetric: their function is `tail` for a negative x and 1 - tail for another x,
// where `tail` is the probability of numbers beyond |x|, which takes an exponential that cannot overflow.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/gemm/activation_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// Returns 1 - Phi(|x|), with a relative error of at most 1e-6 for |x| up to 5.
HWY_INLINE Floats normal_tail(Floats magnitude) {
  const FloatTag d;
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
  return hn::Mul(hn::Mul(p, t), exponential);
}

/// Returns 1 - sigmoid(|x|).
HWY_INLINE Floats logistic_tail(Floats magnitude) {
  const Floats exponential = exp_lanes(hn::Neg(magnitude));
  return hn::Div(exponential, hn::Add(exponential, hn::Set(FloatTag(), 1.0f)));
}

/// Multiplies each value x by the distribution function at x, given its tail(|x|).
template <class Tail>
HWY_INLINE void multiply_by_distribution(std::int64_t count, float* values, Tail&& tail) {
  const FloatTag d;
  for_each_vector(count, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats x = load(part, values + i);
    const Floats beyond = tail(hn::Abs(x));
    const auto is_negative = hn::Lt(x, hn::Zero(d));
    store(part, hn::Mul(x, hn::IfThenElse(is_negative, beyond, hn::Sub(hn::Set(d, 1.0f), beyond))), values + i);
  });
}

void apply_gelu(std::int64_t count, float* values) {
  multiply_by_distribution(count, values, [](Floats magnitude) HWY_ATTR { return normal_tail(magnitude); });
}

void apply_silu(std::int64_t count, float* values) {
  multiply_by_distribution(count, values, [](Floats magnitude) HWY_ATTR { return logistic_tail(magnitude); });
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {

float activate(float x, GemmActivation activation) {
  switch (activation) {
    case GemmActivation::kNone:
      return x;
    case GemmActivation::kRelu:
      return std::max(x, 0.0f);
    case GemmActivation::kGelu:
      return 0.5f * x * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
    case GemmActivation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(apply_gelu);
HWY_EXPORT(apply_silu);

void activate(GemmActivation activation, std::int64_t count, float* values) {
  if (activation == GemmActivation::kNone) return;
  const bool is_fast = activation == GemmActivation::kGelu || activation == GemmActivation::kSilu;
  if (!is_fast || instruction_set() == InstructionSet::kReference) {
    for (float& value : std::span(values, static_cast<std::size_t>(count))) {
      value = reference::activate(value, activation);
    }
  } else if (activation == GemmActivation::kGelu) {
    HWY_DYNAMIC_DISPATCH(apply_gelu)(count, values);
  } else {
    HWY_DYNAMIC_DISPATCH(apply_silu)(count, values);
  }
}

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
