// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"

// Gathers and recombines rows of tensors on several threads, for models that update only some nodes. ATen's
// index_select is slower in backward: it adds up the gradients of a row that is gathered more than once, although here
// no row is gathered twice. Shapes: N = nodes, A = some of the nodes, M = size of a node's state.
namespace edgewise {

/// Gathers rows: row i of the result is row order[i] of the concatenated tensors. `order` has distinct numbers. Tensors
/// have the same type and row shape. Differentiable any number of times; the gradient of a row not in `order` is zero.
/// Throws Error for a row number out of range or repeated, and for types or shapes that do not fit.
at::Tensor take_rows(std::span<const at::Tensor> from, std::span<const NodeIndex> order);
at::Tensor take_rows(const at::Tensor& from, std::span<const NodeIndex> order);

/// States of some nodes, and their weights.
struct WeightedRows {
  at::Tensor state_AM;
  at::Tensor weight_A;
  std::vector<NodeIndex> rows;  // [A] node numbers, ascending
};

/// Returns [N, M] for N = `num_rows` nodes: for each node, the sum of weight · state over the elements of `parts` that
/// contain the node, or zeros if none does. States and weights are all fp32 or all fp64. Differentiable once in both.
/// Throws Error for no parts, for types or shapes that do not fit, and for node numbers out of range or not ascending.
at::Tensor sum_weighted(std::int64_t num_rows, std::span<const WeightedRows> parts);

/// Define take_rows() and sum_weighted() in plain ATen, with gradients from autograd.
at::Tensor take_rows_plain(std::span<const at::Tensor> from, std::span<const NodeIndex> order);
at::Tensor sum_weighted_plain(std::int64_t num_rows, std::span<const WeightedRows> parts);

}  // namespace edgewise
