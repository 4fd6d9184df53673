// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/dropout/dropout.h"

namespace edgewise::kernels {

/// The function that a product applies to each element. kGelu is the exact formula x * Phi(x), kSilu is x * sigmoid(x),
/// and kGeluTanh is GELU with 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) for Phi(x).
enum class GemmActivation { kNone, kRelu, kGelu, kSilu, kGeluTanh };

/// Applies an activation to `count` values in place, on the calling thread. The bits of a result depend only on its
/// argument and on the instruction set in use.
void activate(GemmActivation activation, std::int64_t count, float* values);

/// The arguments of out = dropout(activation(x)), rounded to T. X and T are float or BFloat16; if X is BFloat16, T is,
/// too.
template <typename X, typename T = X>
struct ActivationForward {
  GemmActivation activation;
  std::int64_t count;
  const X* x;
  T* out;  // may be `x`, if its type is X
  Dropout dropout;
};

/// Begins on a GPU in `stream` and makes one pass over memory. `x` and `out` are multiples of 16 bytes in memory of the
/// device. The error of GELU and SiLU is 1e-6 |x|, and that of rounding to T.
template <typename X, typename T>
void activate(const ActivationForward<X, T>& p, device::Stream stream);

namespace reference {

float activate(float x, GemmActivation activation);

}  // namespace reference
}  // namespace edgewise::kernels
