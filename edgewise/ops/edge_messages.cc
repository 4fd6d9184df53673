// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_messages.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/edge_index.h"

namespace edgewise {
namespace {

std::string_view name_of(RowsOf rows_of) {
  constexpr std::string_view kNames[] = {"source", "destination", "edge"};
  return kNames[static_cast<std::size_t>(rows_of)];
}

void check_operand(std::string_view function, std::string_view name, const Relation& relation,
                   const MessageOperand& operand) {
  check_floating_point(function, name, operand.rows);
  check(operand.rows.dim() > 0, "{}: {} has no dimensions, needs at least one: {}s", function, name,
        name_of(operand.rows_of));
  if (!operand.numbers.defined()) {
    const std::int64_t needed = count_rows(relation, operand.rows_of);
    check(operand.rows.size(0) == needed, "{}: {} has {} rows, but the relation has {} {}s, needs one row per {}",
          function, name, operand.rows.size(0), needed, name_of(operand.rows_of), name_of(operand.rows_of));
    return;
  }
  check(operand.rows_of == RowsOf::kEdges, "{}: {} has numbers and rows of {}s, needs rows of edges", function, name,
        name_of(operand.rows_of));
  check(operand.numbers.scalar_type() == at::kLong && operand.numbers.device().is_cpu() &&
            operand.numbers.is_contiguous() && operand.numbers.dim() == 1 &&
            operand.numbers.size(0) == relation.num_edges(),
        "{}: the numbers of {} are {} {}, need Long [{}] on the CPU, contiguous", function, name,
        at::toString(operand.numbers.scalar_type()), shape_text(operand.numbers), relation.num_edges());
}

/// Gathers the operand's row of each edge: [E, …] in the type of parameters, with `dimensions` dimensions.
at::Tensor gather_operand(const Relation& relation, const MessageOperand& operand, std::int64_t dimensions) {
  const EdgeIndexTensors& edges = edge_index_tensors(relation, operand.rows.device());
  at::Tensor rows_E = operand.rows.to(parameter_type(operand.rows));
  if (operand.rows_of == RowsOf::kSources) {
    rows_E = rows_E.index_select(0, edges.source_E);
  } else if (operand.rows_of == RowsOf::kDestinations) {
    rows_E = rows_E.index_select(0, edges.destination_E);
  } else if (operand.numbers.defined()) {
    rows_E = rows_E.index_select(0, copy_to_device(operand.numbers, operand.rows.device()));
  }
  while (rows_E.dim() < dimensions) rows_E = rows_E.unsqueeze(1);
  return rows_E;
}

}  // namespace

std::vector<std::int64_t> message_shape(std::string_view function, const EdgeMessage& message) {
  const at::IntArrayRef left = message.left.rows.sizes().slice(1);
  if (message.op == MessageOperator::kCopy) return left.vec();
  const at::IntArrayRef right = message.right.rows.sizes().slice(1);
  std::vector<std::int64_t> shape(std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t l = i < left.size() ? left[left.size() - 1 - i] : 1;
    const std::int64_t r = i < right.size() ? right[right.size() - 1 - i] : 1;
    check(l == r || l == 1 || r == 1, "{}: left is {} and right is {}, needs last dimensions of one size or 1",
          function, shape_text(message.left.rows), shape_text(message.right.rows));
    shape[shape.size() - 1 - i] = l == 1 ? r : l;
  }
  return shape;
}

void check_message(std::string_view function, const Relation& relation, const EdgeMessage& message) {
  check_operand(function, "left", relation, message.left);
  if (message.op == MessageOperator::kCopy) {
    check(!message.right.rows.defined(), "{}: right is a tensor, needs to be undefined for kCopy", function);
  } else {
    check_operand(function, "right", relation, message.right);
    check_same_type(function, "right", message.right.rows, "left", message.left.rows);
  }
  message_shape(function, message);
}

std::int64_t count_rows(const Relation& relation, RowsOf rows_of, const EdgeNumbers& numbers) {
  if (rows_of == RowsOf::kSources) return relation.num_sources();
  if (rows_of == RowsOf::kDestinations) return relation.num_destinations();
  return numbers.numbers.defined() ? numbers.num_rows : relation.num_edges();
}

kernels::EdgeRows edge_rows(const Relation& relation, RowsOf rows_of) {
  const auto& lists = relation.derive<kernels::EdgeOrders>();
  return rows_of == RowsOf::kSources ? lists.by_source() : lists.by_destination();
}

at::Tensor compute_messages_plain(const Relation& relation, const EdgeMessage& message) {
  const bool has_right = message.op != MessageOperator::kCopy;
  const std::int64_t dimensions = std::max(message.left.rows.dim(), has_right ? message.right.rows.dim() : 0);
  at::Tensor left_E = gather_operand(relation, message.left, dimensions);
  if (!has_right) return left_E;
  const at::Tensor right_E = gather_operand(relation, message.right, dimensions);
  switch (message.op) {
    case MessageOperator::kAdd:
      return left_E + right_E;
    case MessageOperator::kSubtract:
      return left_E - right_E;
    case MessageOperator::kMultiply:
      return left_E * right_E;
    case MessageOperator::kDivide:
      return left_E / right_E;
    case MessageOperator::kCopy:
      break;
  }
  fail("EdgeMessage: op is {}, needs one of the five that there are", static_cast<int>(message.op));
}

}  // namespace edgewise
