// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/ops/dropout_key.h"

namespace edgewise {

/// Combines rate and key in a kernels::Dropout, the argument that dropout kernels take.
inline kernels::Dropout dropout_rule(double rate, DropoutKey key) { return {rate, key.seed, key.stream}; }

/// Applies dropout to an x of aligned_contiguous(), without autograd. The result has the given type: fp32 or bf16 for x
/// of fp32 or bf16, fp64 for x of fp64.
at::Tensor apply_dropout(const at::Tensor& x, const kernels::Dropout& rule, at::ScalarType type);

}  // namespace edgewise
