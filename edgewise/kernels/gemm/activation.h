// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise::kernels {

/// The function that a product applies to each element. kGelu is the exact formula x * Phi(x), and kSilu is
/// x * sigmoid(x).
enum class GemmActivation { kNone, kRelu, kGelu, kSilu };

/// Applies an activation to `count` values in place, on the calling thread. The bits of a result depend only on its
/// argument and on the instruction set in force.
void activate(GemmActivation activation, std::int64_t count, float* values);

namespace reference {

float activate(float x, GemmActivation activation);

}  // namespace reference
}  // namespace edgewise::kernels
