// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace edgewise {

enum class NormKind {
  kLayerNorm,  // (x - mean) / sqrt(variance + eps), variance over n (Ba et al. 2016)
  kStdNorm,    // (x - mean) / (deviation + eps), deviation over n - 1: the from-scratch document's Norm
};

/// Normalises each row of x [T, d], then scales by gain [d] and adds bias [d]. Differentiable in all three.
at::Tensor normalise(const at::Tensor& x_Td, const at::Tensor& gain_d, const at::Tensor& bias_d, NormKind kind,
                     double epsilon);

}  // namespace edgewise
