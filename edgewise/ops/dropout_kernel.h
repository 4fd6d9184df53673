// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/ops/dropout.h"

// Dropout for the operations of this folder: the kernel, and the numbers that it draws in plain ATen on any device.
namespace edgewise {

/// Combines rate and key in a kernels::Dropout, the argument that dropout kernels take.
inline kernels::Dropout dropout_rule(double rate, DropoutKey key) { return {rate, key.seed, key.stream}; }

/// Applies dropout to an x of aligned_contiguous(), without autograd. The result has the given type: fp32 or bf16 for x
/// of fp32 or bf16, fp64 for x of fp64.
at::Tensor apply_dropout(const at::Tensor& x, const kernels::Dropout& rule, at::ScalarType type);

/// Returns which elements of an array of `count` dropout keeps: bool [count].
at::Tensor kept_elements(const kernels::Dropout& rule, std::int64_t count, at::Device device);

/// Returns which attention weights dropout keeps: bool [E, H].
at::Tensor kept_edges(const kernels::Dropout& rule, std::int64_t num_edges, std::int64_t num_heads, at::Device device);

/// Returns x / (1 - rate) where `is_kept`, a tensor of as many elements, is true, and zeros elsewhere.
at::Tensor keep_elements(const at::Tensor& x, const at::Tensor& is_kept, const kernels::Dropout& rule);

}  // namespace edgewise
