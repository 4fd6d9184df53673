// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/ops/add_norm.h"

// Calls the kernels of add_norm.h and norm.h on checked, contiguous tensors, without autograd. Shapes: T = rows, in any
// number of dimensions, M = features.
namespace edgewise {

/// The settings of a norm, with dropout and the residual sum.
struct NormSettings {
  kernels::NormFormula formula;
  kernels::Dropout dropout;
  at::ScalarType type;    // type of `normed`
  at::ScalarType y_type;  // the type of x if y is undefined
};

/// Collects the settings; y may be undefined.
NormSettings norm_settings(const at::Tensor& x_TM, const at::Tensor& y_TM, const AddNormOptions& options);

struct NormResults {
  at::Tensor sum_TM;  // x itself if y is undefined
  at::Tensor normed_TM;
  at::Tensor mean_T;
  at::Tensor deviation_T;
};

NormResults norm_forward(const NormSettings& settings, const at::Tensor& x_TM, const at::Tensor& y_TM,
                         const at::Tensor& gain_M, const at::Tensor& bias_M);

struct NormGradients {
  at::Tensor x_TM;
  at::Tensor y_TM;  // same tensor as x_TM, unless there is dropout or y has another type than x
  at::Tensor gain_M;
  at::Tensor bias_M;
};

/// Computes the gradients. An undefined grad_sum means zeros.
NormGradients norm_backward(const NormSettings& settings, const NormResults& results, const at::Tensor& gain_M,
                            const at::Tensor& grad_sum_TM, const at::Tensor& grad_normed_TM);

}  // namespace edgewise
