// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/message/describe.h"

namespace edgewise {
namespace {

using MessageKind = BuiltinMessage::Kind;

void check_kind(MessageKind kind) {
  check(kind >= MessageKind::kCopy && kind <= MessageKind::kDot,
        "BuiltinMessage: kind is {}, needs one of the six that there are", static_cast<int>(kind));
}

const at::Tensor& find_column(const BuiltinMessage::Column& column, const Frame& node_frame, const Frame& edge_frame) {
  return (column.rows_of == RowsOf::kEdges ? edge_frame : node_frame).get(column.name);
}

/// Checks that the rows of two columns can be broadcast, and for a dot product that their last dimensions are equal.
void check_shapes(const BuiltinMessage& message, std::int64_t num_edges, const at::Tensor& left,
                  const at::Tensor& right) {
  const auto on_edges = [&](const at::Tensor& column) {
    std::vector<std::int64_t> shape = column.sizes().vec();
    shape.front() = num_edges;
    return fmt::format("[{}]", fmt::join(shape, ", "));
  };
  const auto fail_unless = [&](bool fits, std::string_view needed) {
    check(fits, "{}: on the edges '{}' is {} and '{}' is {}, needs {}", builtin_name(message), message.left.name,
          on_edges(left), message.right.name, on_edges(right), needed);
  };
  if (message.kind == MessageKind::kDot) {
    fail_unless(left.dim() > 1 && right.dim() > 1 && left.size(-1) == right.size(-1), "a last dimension of one size");
  }
  for (std::int64_t dim = 1; dim < std::min(left.dim(), right.dim()); ++dim) {
    const std::int64_t l = left.size(-dim);
    const std::int64_t r = right.size(-dim);
    fail_unless(l == r || l == 1 || r == 1, "last dimensions of one size or 1");
  }
}

/// Inserts dimensions of size 1 after the first, which is that of the edges.
at::Tensor with_dimensions(at::Tensor x, std::int64_t count) {
  while (x.dim() < count) x = x.unsqueeze(1);
  return x;
}

at::Tensor gather(const BuiltinMessage::Column& column, const EdgeBatch& edges) {
  if (column.rows_of == RowsOf::kSources) return edges.source(column.name);
  return column.rows_of == RowsOf::kDestinations ? edges.destination(column.name) : edges.data(column.name);
}

}  // namespace

std::string builtin_name(const BuiltinMessage& message) {
  check_kind(message.kind);
  constexpr std::string_view kLetters = "uve";
  const auto letter = [&](const BuiltinMessage::Column& column) {
    return kLetters[static_cast<std::size_t>(column.rows_of)];
  };
  if (message.kind == MessageKind::kCopy) return fmt::format("copy_{}", letter(message.left));
  constexpr std::array<std::string_view, 6> kNames = {"copy", "add", "sub", "mul", "div", "dot"};
  return fmt::format("{}_{}_{}", letter(message.left), kNames[static_cast<std::size_t>(message.kind)],
                     letter(message.right));
}

bool has_message_kernels(const at::Tensor& column) {
  const at::ScalarType type = column.scalar_type();
  return type == at::kFloat || type == at::kDouble || type == at::kBFloat16;
}

std::optional<BoundMessage> bind(const BuiltinMessage& message, const Frame& node_frame, const Frame& edge_frame,
                                 const EdgeSelection& edges) {
  check_kind(message.kind);
  const auto operand = [&](const BuiltinMessage::Column& column) -> MessageOperand {
    return {find_column(column, node_frame, edge_frame), column.rows_of,
            column.rows_of == RowsOf::kEdges ? edges.numbers() : at::Tensor()};
  };
  BoundMessage bound = {{MessageOperator::kCopy, operand(message.left)}, {}};
  const at::Tensor& left = bound.message.left.rows;
  if (message.kind == MessageKind::kCopy) {
    bound.row_shape = left.sizes().slice(1).vec();
    return has_message_kernels(left) ? std::optional(bound) : std::nullopt;
  }
  bound.message.right = operand(message.right);
  const at::Tensor& right = bound.message.right.rows;
  check_shapes(message, edges.size(), left, right);
  if (!has_message_kernels(left) || left.scalar_type() != right.scalar_type()) return std::nullopt;
  constexpr std::array kOperators = {MessageOperator::kCopy,     MessageOperator::kAdd,    MessageOperator::kSubtract,
                                     MessageOperator::kMultiply, MessageOperator::kDivide, MessageOperator::kMultiply};
  bound.message.op = kOperators[static_cast<std::size_t>(message.kind)];
  bound.row_shape = message_shape(builtin_name(message), bound.message);
  if (message.kind == MessageKind::kDot) bound.row_shape.back() = 1;
  return bound;
}

at::Tensor write_messages(const BoundMessage& message, const EdgeSelection& edges) {
  return edge_sum(edges.relation(),
                  {message.message, RowsOf::kEdges, message.row_shape, {edges.places(), edges.size()}});
}

at::Tensor compute_plain(const BuiltinMessage& message, const EdgeBatch& edges) {
  check_kind(message.kind);
  at::Tensor left = gather(message.left, edges);
  if (message.kind == MessageKind::kCopy) return left;
  const at::Tensor right = gather(message.right, edges);
  check_shapes(message, edges.size(), left, right);
  const std::int64_t dimensions = std::max(left.dim(), right.dim());
  const at::Tensor l = with_dimensions(left, dimensions);
  const at::Tensor r = with_dimensions(right, dimensions);
  if (message.kind == MessageKind::kAdd) return l.add(r);
  if (message.kind == MessageKind::kSubtract) return l.sub(r);
  if (message.kind == MessageKind::kMultiply) return l.mul(r);
  if (message.kind == MessageKind::kDivide) return l.div(r);
  return l.mul(r).sum(-1, /*keepdim=*/true);
}

}  // namespace edgewise
