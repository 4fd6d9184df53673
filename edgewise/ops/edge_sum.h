// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/graph/relation.h"

// The operations that carry all built-in messages and reductions. A message is computed on each edge from two rows, and
// its sum or extremum over the edges of a node needs no memory for the messages. Shapes: S = sources, D = destinations,
// E = edges; rows of operands are [S, …], [D, …] or [E, …].
namespace edgewise {

/// The owners of a tensor's rows.
enum class RowsOf { kSources, kDestinations, kEdges };

/// How a message is computed from its left and right operand; kCopy is the left operand.
enum class MessageOperator { kCopy, kAdd, kSubtract, kMultiply, kDivide };

/// The rows of edges in a tensor that is not in the order of the relation, or has rows of other edges, too. Does not
/// check that the numbers are distinct rows of the tensor.
struct EdgeNumbers {
  at::Tensor numbers;         // int64 [E] on the CPU, distinct: edge e of the relation has row numbers[e]
  std::int64_t num_rows = 0;  // the tensor has so many
};

/// A tensor of rows, all of one shape: fp32, fp64 or bf16.
struct MessageOperand {
  at::Tensor rows;
  RowsOf rows_of = RowsOf::kSources;
  at::Tensor numbers = {};  // with kEdges: int64 [E] on the CPU as in EdgeNumbers, or undefined: edge e has row e
};

/// The operands' rows are aligned at their last dimensions, whose sizes are equal or 1.
struct EdgeMessage {
  MessageOperator op = MessageOperator::kCopy;
  MessageOperand left;
  MessageOperand right = {};  // undefined with kCopy
};

/// A sum of messages over the edges of each row of the result. For RowsOf::kEdges, each row is one message.
struct EdgeSum {
  EdgeMessage message;
  RowsOf rows_of = RowsOf::kDestinations;
  std::vector<std::int64_t> row_shape = {};  // 1 sums a dimension, and 1 in an operand repeats the operand
  EdgeNumbers numbers = {};                  // with kEdges: the rows of the result; undefined: the relation's order
};

/// Returns the shape of the rows of a message, to which the rows of its operands are broadcast. Throws Error, which
/// begins with `function`, for shapes that do not align.
std::vector<std::int64_t> message_shape(std::string_view function, const EdgeMessage& message);

/// Returns out[t] = the sum of the messages over the edges e of row t:
///
///     out[t] = sum over e of op(left[i(e)], right[j(e)])
///
/// in the type of the operands. Sums of bf16 are computed in fp32. Rows without edges are zeros, and so are rows of
/// edges that the relation does not have. Differentiable any number of times: gradients are sums of this kind. A sum
/// over the edges of sources, and thus a gradient of sources, derives the relation's edges by source, 12 bytes for each
/// edge, which are kept with the relation. Memory besides operands and result: none in proportion to the edges. Throws
/// Error for operands of other types, devices, numbers of rows or shapes than these.
at::Tensor edge_sum(const Relation& relation, const EdgeSum& sum);

/// Computes several sums. Those of one kind of rows share one pass over the relation's edges.
std::vector<at::Tensor> edge_sums(const Relation& relation, std::span<const EdgeSum> sums);

enum class ExtremumKind { kMaximum, kMinimum };

/// Returns the largest or smallest message of the edges into each destination, element by element: [D, …]. A NaN is
/// larger and smaller than every number; destinations without edges are zeros. Differentiable any number of times: the
/// gradient of an element goes to the first edge that has the extremum. Keeps 4 bytes for each element of the result
/// where a gradient is needed. Throws Error as edge_sum() does.
at::Tensor edge_extremum(const Relation& relation, const EdgeMessage& message, ExtremumKind kind);

/// Define edge_sum() and edge_extremum() in plain ATen, over lists of edges; autograd derives their gradients.
at::Tensor edge_sum_plain(const Relation& relation, const EdgeSum& sum);
at::Tensor edge_extremum_plain(const Relation& relation, const EdgeMessage& message, ExtremumKind kind);

}  // namespace edgewise
