// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "edgewise/ops/attend.h"
#include "edgewise/options/layer_kinds.h"

// Shapes: T = tokens, I = inputs, O = outputs.

namespace edgewise {

struct LinearOptions {
  std::optional<Activation> activation = {};

  // Share of results set to zero while the others grow by 1 / (1 - dropout): the numbers of `dropout` in dropout.h.
  double dropout = 0.0;
  DropoutKey dropout_key = {};
};

/// dropout(activation(x Wᵀ + bias)) over the last dimension, [..., I] to [..., O]. The result has the type of x: fp32,
/// bf16 (products of x with weights rounded to bf16, summed in fp32) or fp64. Weight and bias are fp32, or fp64 where x
/// is. Differentiable once in x, weight and bias, which may be undefined. Throws Error when a shape or type does not
/// fit.
at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                  const LinearOptions& options = {});

struct LinearWeights {
  at::Tensor weight_OI;
  at::Tensor bias_O;  // or undefined
};

/// Several linear layers of one x, such as query, key and value: as many results, each contiguous. The gradient of x
/// is summed within the products, which saves passes over memory.
std::vector<at::Tensor> linear_group(const at::Tensor& x_TI, std::span<const LinearWeights> layers);

/// The definition of `linear` in plain ATen, with gradients that autograd derives. In bf16 it rounds x, the weights and
/// the result, and nothing between.
at::Tensor linear_plain(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                        const LinearOptions& options = {});

}  // namespace edgewise
