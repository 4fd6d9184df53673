// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/base/random.h"

// First values of parameters: fp32 leaves that require a gradient, a function of the stream alone.

namespace edgewise {

/// Uniform within sqrt(6 / (fan_in + fan_out)) of zero, which keeps the variance of what passes through (Glorot and
/// Bengio 2010).
at::Tensor xavier_uniform(at::IntArrayRef shape, std::int64_t fan_in, std::int64_t fan_out, RandomStream& random);

at::Tensor normal_init(at::IntArrayRef shape, double deviation, RandomStream& random);

at::Tensor constant_init(at::IntArrayRef shape, double value);

}  // namespace edgewise
