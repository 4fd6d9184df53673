// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gemm/activation.h"

// Shapes: T = rows (tokens), O = columns (outputs).
namespace edgewise::kernels {

/// The arguments for the gradients of z and of the bias, where out = dropout(relu(z)) or out = dropout(z), and
/// z = product + bias. T is float or BFloat16.
template <typename T>
struct LinearGradient {
  std::int64_t rows;
  std::int64_t columns;
  const T* grad_out;  // [T, O]
  const T* relu_out;  // [T, O], out: 0 where a value was dropped or z was not positive; or null, without ReLU
  Dropout dropout;
  T* grad_sum;       // [T, O], the gradient of z; or null
  float* grad_bias;  // [O], the column sums of the gradient of z are added to it; or null
};

/// Makes one pass over memory. The order of the sums depends on the sizes alone.
template <typename T>
void linear_gradient(const LinearGradient<T>& gradient);

/// The arguments for the gradients of x and of a bias, where out = dropout(activation(x)) and x = product + bias.
template <typename T>
struct ActivationGradient {
  GemmActivation activation;
  std::int64_t rows;
  std::int64_t columns;
  const T* grad_out;  // [T, O]
  const T* saved;     // [T, O]: `out` of ReLU, which is 0 where a value was dropped, or x of GELU and SiLU; else null
  Dropout dropout;
  T* grad_x;         // [T, O], or null; may be `grad_out`
  float* grad_bias;  // [O], the column sums of the gradient of x are added to it; or null

  ActivationGradient() = default;
  explicit ActivationGradient(const LinearGradient<T>& p)
      : activation(p.relu_out == nullptr ? GemmActivation::kNone : GemmActivation::kRelu),
        rows(p.rows),
        columns(p.columns),
        grad_out(p.grad_out),
        saved(p.relu_out),
        dropout(p.dropout),
        grad_x(p.grad_sum),
        grad_bias(p.grad_bias) {}
};

/// The rows whose gradients a block sums for the gradient of a bias.
inline constexpr int kRowsOfGradientChunk = 128;

/// Returns the number of floats in the workspace of activation_gradient() and linear_gradient() for a gradient of a
/// bias.
constexpr std::int64_t gradient_workspace_size(std::int64_t rows, std::int64_t columns) {
  return (rows + kRowsOfGradientChunk - 1) / kRowsOfGradientChunk * columns;
}

/// Begins on a GPU in `stream` and makes one pass over memory; the order of the sums depends on the sizes alone. All
/// pointers are to memory of the device, and matrices to multiples of 16 bytes. `workspace` is null without a gradient
/// of a bias.
template <typename T>
void activation_gradient(const ActivationGradient<T>& p, float* workspace, device::Stream stream);

/// Computes what the CPU's linear_gradient() computes. Has the cost and the workspace of activation_gradient().
template <typename T>
void linear_gradient(const LinearGradient<T>& p, float* workspace, device::Stream stream) {
  activation_gradient(ActivationGradient<T>(p), workspace, stream);
}

namespace reference {
template <typename T>
void linear_gradient(const LinearGradient<T>& gradient);
}  // namespace reference

}  // namespace edgewise::kernels
