// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/kernels/message/edge_sum.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/edge_sum.h"

// Parts of edge_sum() and edge_extremum(): checks, arguments of kernels, and messages in plain ATen.
namespace edgewise {

/// Checks that the operands are of one type and device, that their rows are those of the relation, and that the shapes
/// of their rows align.
void check_message(std::string_view function, const Relation& relation, const EdgeMessage& message);

/// Returns how many rows a tensor has; `numbers` is for RowsOf::kEdges.
std::int64_t count_rows(const Relation& relation, RowsOf rows_of, const EdgeNumbers& numbers = {});

/// Returns the edges in the order of the rows, by destination for RowsOf::kEdges. Valid as long as the relation.
kernels::EdgeRows edge_rows(const Relation& relation, RowsOf rows_of);

inline const std::int64_t* numbers_data(const at::Tensor& numbers) {
  return numbers.defined() ? numbers.const_data_ptr<std::int64_t>() : nullptr;
}

/// The arguments of a kernel for a message, and what they point to.
template <typename T>
class KernelMessage {
 public:
  /// The kernel's rows are those of `rows_of`, and its result has rows of `row_shape`.
  KernelMessage(const EdgeMessage& message, const std::vector<std::int64_t>& row_shape, RowsOf rows_of)
      : left_(message.left.rows.contiguous()),
        right_(message.right.rows.defined() ? message.right.rows.contiguous() : at::Tensor()),
        broadcast_(align(message, row_shape)) {
    arguments_ = {static_cast<kernels::EdgeOperator>(message.op), operand(message.left, left_, rows_of),
                  operand(message.right, right_, rows_of), &broadcast_};
  }
  KernelMessage(const KernelMessage&) = delete;
  KernelMessage& operator=(const KernelMessage&) = delete;

  const kernels::RowMessage<T>& arguments() const { return arguments_; }

 private:
  static kernels::RowBroadcast align(const EdgeMessage& message, const std::vector<std::int64_t>& row_shape) {
    const auto row = [](const at::Tensor& rows) {
      return rows.defined() ? rows.sizes().slice(1).vec() : std::vector<std::int64_t>();
    };
    return kernels::broadcast_rows(row(message.left.rows), row(message.right.rows), row_shape);
  }

  static kernels::EdgeOperand<T> operand(const MessageOperand& operand, const at::Tensor& rows, RowsOf rows_of) {
    if (!rows.defined()) return {};
    using kernels::EdgeEnd;
    const RowsOf row_end = rows_of == RowsOf::kSources ? RowsOf::kSources : RowsOf::kDestinations;
    const EdgeEnd end = operand.rows_of == RowsOf::kEdges ? EdgeEnd::kEdge
                        : operand.rows_of == row_end      ? EdgeEnd::kRow
                                                          : EdgeEnd::kOther;
    return {data_or_null<T>(rows), end, rows.size(0), numbers_data(operand.numbers)};
  }

  at::Tensor left_;
  at::Tensor right_;
  kernels::RowBroadcast broadcast_;
  kernels::RowMessage<T> arguments_;
};

/// Returns the messages of all edges in plain ATen, [E, …] with rows of message_shape(), in the type of parameters.
at::Tensor compute_messages_plain(const Relation& relation, const EdgeMessage& message);

}  // namespace edgewise
