// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "edgewise/kernels/dropout/dropout_factors_cuda.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gpu/columns.h"
#include "edgewise/kernels/gpu/device.h"
#include "edgewise/kernels/gpu/exponential.h"

// Activations and their derivatives. GELU and SiLU are x F(x), where F is a distribution function: of the normal and of
// the logistic distribution. Both are symmetric, so F follows from the probability of numbers beyond |x|, its tail.
namespace edgewise::kernels::gpu {

/// Calls call(std::integral_constant<GemmActivation, activation>()).
template <class Call>
void with_activation(GemmActivation activation, Call call) {
  switch (activation) {
    case GemmActivation::kNone:
      return call(std::integral_constant<GemmActivation, GemmActivation::kNone>());
    case GemmActivation::kRelu:
      return call(std::integral_constant<GemmActivation, GemmActivation::kRelu>());
    case GemmActivation::kGelu:
      return call(std::integral_constant<GemmActivation, GemmActivation::kGelu>());
    case GemmActivation::kSilu:
      return call(std::integral_constant<GemmActivation, GemmActivation::kSilu>());
  }
  throw std::invalid_argument("activate: activation is " + std::to_string(static_cast<int>(activation)) +
                              ", needs one of GemmActivation");
}

/// A distribution function F and its density at a number.
struct Distribution {
  float function;
  float density;
};

EDGEWISE_DEVICE float function_from_tail(float x, float tail) { return x < 0 ? tail : 1 - tail; }

EDGEWISE_DEVICE Distribution normal_distribution(float x) {
  // The tail is exp(-x^2 / 2) t p(t) with t = 1 / (1 + 0.3 |x|); activation_cpu.cc has the source of p.
  const float magnitude = x < 0 ? -x : x;
  const float t = reciprocal_approximate(fused_multiply_add(magnitude, 0.3f, 1.0f));
  float p = fused_multiply_add(0x1.34005p-5f, t, -0x1.523154p-3f);
  p = fused_multiply_add(p, t, 0x1.c242d6p-3f);
  p = fused_multiply_add(p, t, -0x1.0e110ap-4f);
  p = fused_multiply_add(p, t, 0x1.145836p-3f);
  p = fused_multiply_add(p, t, 0x1.917e94p-4f);
  p = fused_multiply_add(p, t, 0x1.efd232p-4f);
  p = fused_multiply_add(p, t, 0x1.e9ecb6p-4f);
  const float exponential = exp_approximate(magnitude * magnitude * -0.5f);
  constexpr float kDensityAtZero = 0x1.988454p-2f;  // 1 / sqrt(2 pi)
  return {function_from_tail(x, p * t * exponential), exponential * kDensityAtZero};
}

EDGEWISE_DEVICE Distribution logistic_distribution(float x) {
  const float exponential = exp_approximate(x < 0 ? x : -x);
  const float complement = reciprocal_approximate(1 + exponential);
  const float tail = exponential * complement;
  return {function_from_tail(x, tail), tail * complement};
}

template <GemmActivation kActivation>
EDGEWISE_DEVICE Distribution distribution(float x) {
  if constexpr (kActivation == GemmActivation::kGelu) {
    return normal_distribution(x);
  } else {
    return logistic_distribution(x);
  }
}

template <GemmActivation kActivation>
EDGEWISE_DEVICE float activate(float x) {
  if constexpr (kActivation == GemmActivation::kNone) {
    return x;
  } else if constexpr (kActivation == GemmActivation::kRelu) {
    return x < 0 ? 0.0f : x;
  } else {
    return x * distribution<kActivation>(x).function;
  }
}

/// Returns the derivative of x F(x).
template <GemmActivation kActivation>
EDGEWISE_DEVICE float activation_derivative(float x) {
  const Distribution at = distribution<kActivation>(x);
  return fused_multiply_add(x, at.density, at.function);
}

/// Applies the dropout of a flat array to the values of `columns` of a row, whose first one is value `begin` of the
/// array.
template <class Columns>
EDGEWISE_DEVICE void apply_dropout(const DeviceDropoutFactors& dropout, std::int64_t begin, const Columns& columns,
                                   float (&value)[Columns::kSize]) {
  if constexpr (Columns::kSize == 1) {
    value[0] *= dropout.one(begin + columns.first);
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += kChunk) {
      const Floats4 factors = dropout.aligned_chunk(begin + columns.at(i));
      EDGEWISE_UNROLL
      for (int j = 0; j < kChunk; ++j) value[i + j] *= factors.at[j];
    }
  }
}

}  // namespace edgewise::kernels::gpu
