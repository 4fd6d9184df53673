// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

// Rotary position embeddings. Shapes: N = nodes, H = heads, K = head size, P = positions.
namespace edgewise {

/// Turns the pairs (x[k], x[k + K / 2]) of each head of x [N, H, K], where K is even (Su et al. 2021; the halves are
/// Llama's):
///
///     out[k]         = x[k] cos - x[k + K / 2] sin
///     out[k + K / 2] = x[k] sin + x[k + K / 2] cos
///
/// Row rows[n] of the table [P, K] has the sines of node n's angles of k = 0, 1, ..., K / 2 - 1, and then their
/// cosines. x is fp32 or bf16 with a table of fp32, or both are fp64. Differentiable once, in x; the gradient turns
/// back. GPUs have no kernel and compute the definition. Throws Error for shapes, types or rows that do not fit.
at::Tensor rotate(const at::Tensor& x_NHK, const at::Tensor& table_PK, std::span<const std::int64_t> rows);

/// Defines `rotate` in plain ATen, with gradients from autograd.
at::Tensor rotate_plain(const at::Tensor& x_NHK, const at::Tensor& table_PK, std::span<const std::int64_t> rows);

}  // namespace edgewise
