// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/gpu/device.h"

// exp() and log() for kernels. The error of the device's powers and logarithms to base 2 is in device_emulated.h.
namespace edgewise::kernels::gpu {

/// Returns e^x with a relative error of at most 2^-22 + |x| 2^-22; 0 for -infinity, and for results below 2^-126.
EDGEWISE_DEVICE float exp_approximate(float x) {
  constexpr float kLog2OfE = 0x1.715476p0f;
  return exp2_approximate(x * kLog2OfE);
}

/// Returns the natural logarithm with the error of log2_approximate().
EDGEWISE_DEVICE float log_approximate(float x) {
  constexpr float kLogOf2 = 0x1.62E430p-1f;
  return log2_approximate(x) * kLogOf2;
}

}  // namespace edgewise::kernels::gpu
