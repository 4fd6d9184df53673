// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/ops/linear_layer.h"

// The functions of linear_layer.h where uses_gpu_kernels() (definition.h) is true.
namespace edgewise::gpu {

LayerResult layer_forward(const at::Tensor& x_TI, const LinearWeights& parameters, const LinearOptions& options);
at::Tensor layer_grad_preactivation(const at::Tensor& grad_out_TO, const at::Tensor& saved_TO,
                                    const LinearOptions& options, const at::Tensor& grad_bias_O);
void layer_grad_weight(const at::Tensor& grad_pre_TO, const at::Tensor& x_TI, const GradientBuffer& grad_weight_OI);
void layer_grad_x(const at::Tensor& grad_pre_TO, const at::Tensor& weight_OI, GradX mode, const at::Tensor& grad_x_TI);

}  // namespace edgewise::gpu
