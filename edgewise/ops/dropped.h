// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/ops/attend.h"

namespace edgewise {

inline kernels::Dropout dropout_rule(double rate, DropoutKey key) { return {rate, key.seed, key.stream}; }

/// x, contiguous, after dropout, in a type of its own: fp32 or bf16 from either, or fp64 from fp64. Knows nothing of
/// autograd.
at::Tensor dropped(const at::Tensor& x, const kernels::Dropout& rule, at::ScalarType type);

}  // namespace edgewise
