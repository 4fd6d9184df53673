// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "edgewise/options/layer_kinds.h"

namespace edgewise {

/// Normalises each row of x [T, M], then scales by gain [M] and adds bias [M]. The result has the given type, or that
/// of x. x and the result are fp32 or bf16, with gain, bias and all sums in fp32, or everything is fp64. Differentiable
/// once in x, gain and bias. A row of equal numbers becomes the bias. Throws Error when a shape or type does not fit,
/// and for rows of one number with kStdNorm.
at::Tensor normalise(const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M, NormKind kind,
                     double epsilon, std::optional<at::ScalarType> type = {});

}  // namespace edgewise
