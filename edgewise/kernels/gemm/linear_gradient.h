// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gemm/activation.h"

// Shapes: T = rows (tokens), O = columns (outputs).
namespace edgewise::kernels {

/// The arguments for the gradients of x and of a bias, where out = dropout(activation(x)) and x = product + bias. T
/// is float or BFloat16.
template <typename T>
struct ActivationGradient {
  GemmActivation activation = GemmActivation::kNone;
  std::int64_t rows;
  std::int64_t columns;
  const T* grad_out;         // [T, O]
  const T* saved = nullptr;  // [T, O]: `out` of ReLU, which is 0 where a value was dropped, or x of GELU and SiLU
  Dropout dropout = {};
  T* grad_x = nullptr;         // [T, O], or null; may be `grad_out`
  float* grad_bias = nullptr;  // [O], the column sums of the gradient of x are added to it; or null
};

/// Makes one pass over memory. The activation is none or ReLU. The order of the sums depends on the sizes alone.
template <typename T>
void activation_gradient(const ActivationGradient<T>& p);

/// The rows whose gradients a block sums for the gradient of a bias.
inline constexpr int kRowsOfGradientChunk = 128;

/// Returns the number of floats in the workspace of a gradient of a bias.
constexpr std::int64_t gradient_workspace_size(std::int64_t rows, std::int64_t columns) {
  return (rows + kRowsOfGradientChunk - 1) / kRowsOfGradientChunk * columns;
}

/// Begins on a GPU in `stream` and makes one pass over memory; the order of the sums depends on the sizes alone. All
/// pointers are to memory of the device, and matrices to multiples of 16 bytes. `workspace` is null without a gradient
/// of a bias.
template <typename T>
void activation_gradient(const ActivationGradient<T>& p, float* workspace, device::Stream stream);

namespace reference {
/// The activation is none or ReLU.
template <typename T>
void activation_gradient(const ActivationGradient<T>& p);
}  // namespace reference

}  // namespace edgewise::kernels
