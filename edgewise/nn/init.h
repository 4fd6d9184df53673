// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/options/layer_options.h"

// Initial values of parameters: fp32 leaf tensors that require a gradient, determined by the random stream.

namespace edgewise {

/// Draws uniformly within ±sqrt(6 / (fan_in + fan_out)), which preserves activation variance (Glorot and Bengio 2010).
at::Tensor xavier_uniform(at::IntArrayRef shape, std::int64_t fan_in, std::int64_t fan_out, RandomStream& random);

/// Draws from the normal distribution with mean 0.
at::Tensor normal_init(at::IntArrayRef shape, double deviation, RandomStream& random);

/// Draws a table of `rows` vectors of `size` elements.
at::Tensor embedding_init(std::int64_t rows, std::int64_t size, EmbeddingInit init, RandomStream& random);

at::Tensor constant_init(at::IntArrayRef shape, double value);

}  // namespace edgewise
