// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "edgewise/ops/add_norm.h"

// Checks the arguments of norms. Errors begin with `function`, the name of the public function that was called.
namespace edgewise {

/// Checks the arguments of x + dropout(y); y may be undefined.
void check_summands(std::string_view function, const at::Tensor& x_TM, const at::Tensor& y_TM, double dropout);

/// Checks the arguments of a norm of x.
void check_norm(std::string_view function, const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                const AddNormOptions& options);

}  // namespace edgewise
