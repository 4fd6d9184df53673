// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "edgewise/ops/attend.h"
#include "edgewise/ops/norm.h"

// What stands between two sublayers. Shapes: T = tokens, M = model size.

namespace edgewise {

struct AddNormOptions {
  NormKind kind = NormKind::kLayerNorm;
  double epsilon = 1e-5;

  // Share of y set to zero while the rest grows by 1 / (1 - dropout): the numbers of `dropout` in dropout.h.
  double dropout = 0.0;
  DropoutKey dropout_key = {};

  // Of `normed`. Unset means the type of x.
  std::optional<at::ScalarType> type = {};
};

struct AddNorm {
  at::Tensor sum_TM;
  at::Tensor normed_TM;
};

/// In one pass over memory,
///
///     sum    = x + dropout(y)
///     normed = normalise(sum, gain, bias)
///
/// x is the residual stream, y what a sublayer said. Without y, which may be undefined, the sum is x itself. x is fp32
/// or bf16, y of that type or bf16, with gain, bias and all sums in fp32; or everything is fp64. The sum has the type
/// of x. Differentiable once in x, y, gain and bias; backward keeps the sum and two numbers a row. Throws Error when a
/// shape or type does not fit.
AddNorm add_norm(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                 const AddNormOptions& options = {});

/// x + dropout(y) alone: the last sublayer of a model without a final norm.
at::Tensor add_dropout(const at::Tensor& x_TM, const at::Tensor& y_TM, double dropout, DropoutKey key);

/// The definitions in plain ATen, with gradients that autograd derives.
AddNorm add_norm_plain(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M,
                       const at::Tensor& bias_M, const AddNormOptions& options = {});
at::Tensor add_dropout_plain(const at::Tensor& x_TM, const at::Tensor& y_TM, double dropout, DropoutKey key);

}  // namespace edgewise
