// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>

#include "edgewise/ops/attend.h"

namespace edgewise {

/// Sets a share `rate` of the values to zero and scales the others by 1 / (1 - rate). Which ones is a function of the
/// key and of a value's position, not of the thread that computes it; backward draws the same numbers again. fp32,
/// fp64, bf16.
at::Tensor dropout(const at::Tensor& x, double rate, DropoutKey key);

/// Without it, `dropout(x, rate, {})` would be at::dropout(x, rate, false): no dropout at all.
at::Tensor dropout(const at::Tensor& x, double rate, std::initializer_list<DropoutKey> key) = delete;

}  // namespace edgewise
