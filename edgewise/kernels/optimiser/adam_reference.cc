// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "edgewise/kernels/optimiser/adam.h"

namespace edgewise::kernels {

AdamFactors::AdamFactors(const AdamArguments& p)
    : mean_weight(static_cast<float>(1.0 - p.beta1)),
      beta2(static_cast<float>(p.beta2)),
      square_weight(static_cast<float>(1.0 - p.beta2)),
      variance_correction(static_cast<float>(std::sqrt(1.0 - std::pow(p.beta2, static_cast<double>(p.step))))),
      epsilon(static_cast<float>(p.epsilon)),
      rate(static_cast<float>(p.learning_rate / (1.0 - std::pow(p.beta1, static_cast<double>(p.step))))),
      decay(static_cast<float>(1.0 - p.learning_rate * p.weight_decay)) {}

namespace reference {
namespace {

/// Takes the form of the interpolation that is exact at the nearer end.
float interpolate(float from, float to, float weight) {
  return weight < 0.5f ? std::fma(weight, to - from, from) : std::fma(weight - 1.0f, to - from, to);
}

}  // namespace

void adam_update(const AdamArguments& p) {
  const AdamFactors factors(p);
  const float divisor = *p.divisor;
  if (!std::isfinite(divisor)) return;
  for (std::int64_t i = 0; i < p.count; ++i) {
    const float gradient = p.gradient[i] / divisor;
    const bool is_matrix = p.is_matrix != nullptr && p.is_matrix[i / kElementsPerFlag] != 0;
    const float value = is_matrix ? p.value[i] * factors.decay : p.value[i];
    p.mean[i] = interpolate(p.mean[i], gradient, factors.mean_weight);
    p.variance[i] = std::fma(factors.square_weight * gradient, gradient, p.variance[i] * factors.beta2);
    const float deviation = std::sqrt(p.variance[i]) / factors.variance_correction + factors.epsilon;
    p.value[i] = value - factors.rate * p.mean[i] / deviation;
    if (p.divided_gradient != nullptr) p.divided_gradient[i] = gradient;
  }
}

}  // namespace reference
}  // namespace edgewise::kernels
