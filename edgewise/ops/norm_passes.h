// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/ops/add_norm.h"

// The kernels of add_norm.h on contiguous tensors that have been checked. They know nothing of autograd. Shapes: T =
// rows, of any number of dimensions, M = features.
namespace edgewise {

/// Everything about a norm but its tensors.
struct NormPass {
  kernels::NormFormula formula;
  kernels::Dropout dropout;
  at::ScalarType type;    // of normed
  at::ScalarType y_type;  // where there is no y, any that fits x
};

/// y may be undefined.
NormPass norm_pass(const at::Tensor& x_TM, const at::Tensor& y_TM, const AddNormOptions& options);

struct NormResults {
  at::Tensor sum_TM;  // x where there is no y
  at::Tensor normed_TM;
  at::Tensor mean_T;
  at::Tensor deviation_T;
};

NormResults norm_forward(const NormPass& pass, const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M,
                         const at::Tensor& bias_M);

struct NormGradients {
  at::Tensor x_TM;
  at::Tensor y_TM;  // that of x if no dropout and no type makes it another
  at::Tensor gain_M;
  at::Tensor bias_M;
};

/// grad_sum may be undefined: zeros.
NormGradients norm_backward(const NormPass& pass, const NormResults& results, const at::Tensor& gain_M,
                            const at::Tensor& grad_sum_TM, const at::Tensor& grad_normed_TM);

}  // namespace edgewise
