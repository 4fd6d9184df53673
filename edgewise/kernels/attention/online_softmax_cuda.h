// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "edgewise/kernels/gpu/device.h"

// The softmax of the kernels of attention. Scores are in units of log2(e), because devices compute powers of 2.
namespace edgewise::kernels::gpu {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;
inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Returns x, or the nearest of the two bounds -bound and bound.
EDGEWISE_DEVICE float clamp_between(float x, float bound) { return x > bound ? bound : (x < -bound ? -bound : x); }

/// The running maximum and sum of a row's softmax. A score of NaN makes the sum NaN.
struct OnlineSoftmax {
  float maximum = kMinusInfinity;
  float sum = 0;

  /// Raises the maximum and returns the factor by which all sums so far shrink.
  EDGEWISE_DEVICE float raise(float new_maximum) {
    const float factor = maximum == kMinusInfinity ? 0.0f : exp2_approximate(maximum - new_maximum);
    maximum = new_maximum;
    sum *= factor;
    return factor;
  }

  /// Returns the weight of a score, before it is divided by the sum; 0 for -infinity.
  EDGEWISE_DEVICE float weight(float score) const {
    return exp2_approximate(score - (maximum == kMinusInfinity ? 0.0f : maximum));
  }

  EDGEWISE_DEVICE float log_normalizer() const {
    return sum == 0 ? kMinusInfinity : (maximum + log2_approximate(sum)) * kLn2;
  }

  EDGEWISE_DEVICE float inverse_sum() const { return sum == 0 ? 0.0f : 1 / sum; }
};

}  // namespace edgewise::kernels::gpu
