// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/ops/gradients_in_place.h"
#include "edgewise/ops/linear.h"

// Forward and backward passes of one linear layer, without autograd, in fp32 and bf16. Shapes: T = tokens, I = inputs,
// O = outputs. All tensors except the parameters come from aligned_contiguous().
namespace edgewise {

/// Returns the kernels' name of the activation.
kernels::GemmActivation activation_of(const LinearOptions& options);

struct LayerResult {
  at::Tensor out_TO;
  // The saved tensor for backward: ReLU's result, another activation's argument, or undefined without activation.
  at::Tensor saved_TO;
};

LayerResult layer_forward(const at::Tensor& x_TI, const LinearWeights& parameters, const LinearOptions& options);

/// Returns the gradient of the pre-activations x Wᵀ + bias. Adds the sum of its rows to grad_bias, if defined.
at::Tensor layer_grad_preactivation(const at::Tensor& grad_out_TO, const at::Tensor& saved_TO,
                                    const LinearOptions& options, const at::Tensor& grad_bias_O);

/// Writes the gradient of the weight, or adds it if `grad_weight_OI` is accumulated.
void layer_grad_weight(const at::Tensor& grad_pre_TO, const at::Tensor& x_TI, const GradientBuffer& grad_weight_OI);

/// Writes the gradient of x, or adds it to the gradient in memory.
void layer_grad_x(const at::Tensor& grad_pre_TO, const at::Tensor& weight_OI, kernels::GemmResult mode,
                  const at::Tensor& grad_x_TI);

}  // namespace edgewise
