// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"

// Rows of tensors taken apart and put together again, when only some nodes are still computed. Rows on the CPU are
// copied by several threads; the plain ways are index_select and index_add, whose gradients sum where nothing is to be
// summed. Shapes: N = nodes, A = some of them, M = size of a node's state.

namespace edgewise {

/// Row i of the result is row order[i] of the tensors as if they lay one behind the other. No row is taken twice.
/// Tensors have one type and rows of one shape. Differentiable once; a row not taken has a gradient of zero. Throws
/// Error for a row that is not there, and for tensors that do not fit.
at::Tensor take_rows(std::span<const at::Tensor> from, std::span<const NodeIndex> order);
at::Tensor take_rows(const at::Tensor& from, std::span<const NodeIndex> order);

/// States of some nodes, and how much each counts.
struct WeightedRows {
  at::Tensor state_AM;
  at::Tensor weight_A;
  std::vector<NodeIndex> rows;  // [A], ascending: whose they are
};

/// The sum of weight · state of each of `num_rows` nodes over all parts; zeros for a node of no part. States and
/// weights are fp32, or fp64. Differentiable once in both. Throws Error for what does not fit.
at::Tensor sum_weighted(std::int64_t num_rows, std::span<const WeightedRows> parts);

}  // namespace edgewise
