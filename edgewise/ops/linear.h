// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "edgewise/ops/dropout.h"
#include "edgewise/options/layer_options.h"

// Shapes: T = tokens, I = inputs, O = outputs.
namespace edgewise {

struct LinearOptions {
  std::optional<Activation> activation = {};

  // Probability of setting a result to zero; the other results are scaled by 1 / (1 - dropout).
  double dropout = 0.0;
  DropoutKey dropout_key = {};
};

/// Computes dropout(activation(x Wᵀ + bias)) over the last dimension, [..., I] to [..., O]. The result has the type of
/// x: fp32, bf16 (weights, and the bias on a GPU, rounded to bf16, products summed in fp32) or fp64. Weight and bias
/// are fp64 if x is fp64, else fp32; bias may be undefined. Differentiable once in x, weight and bias. Throws Error for
/// shapes or types that do not fit.
at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                  const LinearOptions& options = {});

struct LinearWeights {
  at::Tensor weight_OI;
  at::Tensor bias_O;  // may be undefined
};

/// Applies several linear layers to one x, such as query, key and value. Returns one contiguous result for each layer.
/// Backward adds to the gradient of x within the products, which saves passes over memory.
std::vector<at::Tensor> linear_group(const at::Tensor& x_TI, std::span<const LinearWeights> layers);

/// Computes dropout(activation(gate) * x), a gated linear unit (Shazeer 2020), in one pass over memory. Without an
/// activation, the gate itself is the factor. Both tensors have one shape and one type: fp32, bf16 or fp64. GPUs have
/// no kernel and compute the definition. Differentiable once in both. Throws Error for shapes or types that do not fit.
at::Tensor gate(const at::Tensor& gate, const at::Tensor& x, const LinearOptions& options = {});

/// Defines `gate` in plain ATen, with gradients from autograd.
at::Tensor gate_plain(const at::Tensor& gate, const at::Tensor& x, const LinearOptions& options = {});

/// Defines `linear` in plain ATen, with gradients from autograd. In bf16, rounds only x, the weights and the result.
at::Tensor linear_plain(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                        const LinearOptions& options = {});

}  // namespace edgewise
