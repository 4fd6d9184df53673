// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/linear_gradient.h"

// The passes over memory between two matrix products on GPUs: activations, dropout and gradients of biases. All
// pointers are to memory of the device, and matrices to multiples of 16 bytes. Each result has the same bits in every
// run. Shapes: T = rows (tokens), O = columns (outputs).
namespace edgewise::kernels {

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

/// Begins in `stream` and makes one pass over memory. The error of GELU and SiLU is 1e-6 |x|, and that of rounding
/// to T.
template <typename X, typename T>
void activate(const ActivationForward<X, T>& p, device::Stream stream);

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

/// Begins in `stream` and makes one pass over memory; the order of the sums depends on the sizes alone. `workspace` is
/// memory of the device, or null without a gradient of a bias.
template <typename T>
void activation_gradient(const ActivationGradient<T>& p, float* workspace, device::Stream stream);

/// Computes what the CPU's linear_gradient() computes. Has the cost and the workspace of activation_gradient().
template <typename T>
void linear_gradient(const LinearGradient<T>& p, float* workspace, device::Stream stream) {
  activation_gradient(ActivationGradient<T>(p), workspace, stream);
}

}  // namespace edgewise::kernels
