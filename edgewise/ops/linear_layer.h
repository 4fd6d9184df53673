// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/ops/gradients_in_place.h"
#include "edgewise/ops/linear.h"

// One linear layer forward and backward, without autograd, in fp32 and bf16. Shapes: T = tokens, I = inputs,
// O = outputs. All tensors but parameters are contiguous.
namespace edgewise {

struct LayerResult {
  at::Tensor out_TO;
  at::Tensor witness_TO;  // what backward asks about the activation: ReLU's result, GELU's argument; or undefined
};

LayerResult layer_forward(const at::Tensor& x_TI, const LinearWeights& parameters, const LinearOptions& options);

/// The gradient of the sums x Wᵀ + bias from that of the result. Adds its sum over tokens to grad_bias, if defined.
at::Tensor layer_grad_sums(const at::Tensor& grad_out_TO, const at::Tensor& witness_TO, const LinearOptions& options,
                           const at::Tensor& grad_bias_O);

void layer_grad_weight(const at::Tensor& grad_sums_TO, const at::Tensor& x_TI, const GradientPlace& grad_weight_OI);

enum class GradX { kWrite, kAdd };
void layer_grad_x(const at::Tensor& grad_sums_TO, const at::Tensor& weight_OI, GradX mode, const at::Tensor& grad_x_TI);

}  // namespace edgewise
