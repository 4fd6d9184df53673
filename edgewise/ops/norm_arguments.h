// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "edgewise/ops/add_norm.h"

// What norms ask of their arguments, in the name of the function that the user called.
namespace edgewise {

/// What x + dropout(y) needs; y may be undefined.
void check_summands(std::string_view function, const at::Tensor& x_TM, const at::Tensor& y_TM, double dropout);

/// What a norm of x needs.
void check_norm(std::string_view function, const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                const AddNormOptions& options);

}  // namespace edgewise
