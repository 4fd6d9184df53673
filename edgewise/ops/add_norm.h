// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "edgewise/ops/dropout.h"
#include "edgewise/options/layer_options.h"

// Residual connection, dropout and norm between two sublayers. Shapes: T = tokens, M = model size.
namespace edgewise {

/// Normalises each row of x [T, M], then scales by gain [M] and adds bias [M], unless that is undefined. The result has
/// the given type, or x's type. x and the result are fp32 or bf16, with gain, bias and accumulation in fp32; or
/// everything is fp64. Differentiable once in x, gain and bias. A row of equal numbers becomes the bias. Throws Error
/// for shapes or types that do not fit, and for M = 1 with kStdNorm, which divides by M - 1.
at::Tensor normalise(const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M, NormKind kind,
                     double epsilon, std::optional<at::ScalarType> type = {});

struct AddNormOptions {
  NormKind kind = NormKind::kLayerNorm;
  double epsilon = 1e-5;

  // Probability of setting an element of y to zero; the other elements are scaled by 1 / (1 - dropout).
  double dropout = 0.0;
  DropoutKey dropout_key = {};

  // Type of `normed`; unset means the type of x.
  std::optional<at::ScalarType> type = {};
};

struct AddNorm {
  at::Tensor sum_TM;
  at::Tensor normed_TM;
};

/// Computes, in one pass over memory,
///
///     sum    = x + dropout(y)
///     normed = normalise(sum, gain, bias)
///
/// where x is the residual stream and y the output of a sublayer. If y is undefined, the sum is x itself. x is fp32 or
/// bf16, y has the type of x or bf16, with gain, bias and accumulation in fp32; or everything is fp64. The sum has the
/// type of x. Differentiable once in x, y, gain and bias; saves the sum and two numbers per row for backward. Throws
/// Error for shapes or types that do not fit.
AddNorm add_norm(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                 const AddNormOptions& options = {});

/// Returns x + dropout(y), for the last sublayer of a model without a final norm.
at::Tensor add_dropout(const at::Tensor& x_TM, const at::Tensor& y_TM, double dropout, DropoutKey key);

/// Define the two functions above in plain ATen, with gradients from autograd.
AddNorm add_norm_plain(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M,
                       const at::Tensor& bias_M, const AddNormOptions& options = {});
at::Tensor add_dropout_plain(const at::Tensor& x_TM, const at::Tensor& y_TM, double dropout, DropoutKey key);

}  // namespace edgewise
