// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "edgewise/options/layer_options.h"

namespace edgewise {

/// Normalises each row of x [T, M], then scales by gain [M] and adds bias [M]. The result has the given type, or x's
/// type. x and the result are fp32 or bf16, with gain, bias and accumulation in fp32; or everything is fp64.
/// Differentiable once in x, gain and bias. A row of equal numbers becomes the bias. Throws Error for shapes or types
/// that do not fit, and for M = 1 with kStdNorm, which divides by M - 1.
at::Tensor normalise(const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M, NormKind kind,
                     double epsilon, std::optional<at::ScalarType> type = {});

}  // namespace edgewise
