// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "edgewise/kernels/message/edge_sum.h"

// The arguments of the kernels for messages, in the form that their loops need.
namespace edgewise::kernels {

/// An operation whose left operand is read without repetition.
enum class Formula { kCopy, kAdd, kSubtract, kSubtractFromRight, kMultiply, kDivide, kDivideRight };

/// The rows of an operand. Whole vectors may be read from any element of a row: behind the tensor's end, a copy of its
/// last rows continues with zeros.
template <typename T>
class OperandRows {
 public:
  OperandRows() = default;
  OperandRows(const EdgeOperand<T>& operand, std::int64_t row_size, RowReading row_reading)
      : end(operand.end), numbers(operand.numbers), size(row_size), reading(row_reading), data_(operand.data) {
    constexpr std::int64_t kMinLargeBytes = 1
                                            << 20;  // tensors of this size do not fit into a cache of the second level
    is_large = operand.num_rows * size * static_cast<std::int64_t>(sizeof(T)) > kMinLargeBytes;
    const std::int64_t num_tail_rows = std::min(operand.num_rows, size == 0 ? 0 : (kMaxLanes + size - 1) / size);
    first_tail_row_ = operand.num_rows - num_tail_rows;
    tail_.assign(static_cast<std::size_t>(num_tail_rows * size + kMaxLanes), T(0.0f));
    std::copy_n(data_ + first_tail_row_ * size, num_tail_rows * size, tail_.data());
  }

  const T* row(std::int64_t i) const {
    return i < first_tail_row_ ? data_ + i * size : tail_.data() + (i - first_tail_row_) * size;
  }

  EdgeEnd end = EdgeEnd::kRow;
  const std::int64_t* numbers = nullptr;
  std::int64_t size = 0;
  RowReading reading = RowReading::kWhole;
  bool is_large = false;

 private:
  static constexpr std::int64_t kMaxLanes = 16;

  const T* data_ = nullptr;
  std::int64_t first_tail_row_ = 0;
  std::vector<T> tail_;
};

template <typename T>
struct MessageTask {
  explicit MessageTask(const RowMessage<T>& message) : formula(formula_of(message.op)), broadcast(*message.broadcast) {
    EdgeOperand<T> left_operand = message.left;
    EdgeOperand<T> right_operand = message.right;
    // The left operand is the one that is read whole. Of two such operands, it is the one that changes with the entry,
    // whose rows are prefetched.
    const bool is_right_better = broadcast.left_reading() != RowReading::kWhole || left_operand.end == EdgeEnd::kRow;
    if (formula != Formula::kCopy && broadcast.right_reading() == RowReading::kWhole && is_right_better) {
      broadcast = broadcast.swapped();
      std::swap(left_operand, right_operand);
      formula = reversed(formula);
    }
    left = OperandRows<T>(left_operand, broadcast.left_size, broadcast.left_reading());
    if (has_right()) right = OperandRows<T>(right_operand, broadcast.right_size, broadcast.right_reading());
  }

  bool has_right() const { return formula != Formula::kCopy; }

  Formula formula;
  RowBroadcast broadcast;
  OperandRows<T> left;
  OperandRows<T> right;

 private:
  static Formula formula_of(EdgeOperator op) {
    constexpr Formula kFormulas[] = {Formula::kCopy, Formula::kAdd, Formula::kSubtract, Formula::kMultiply,
                                     Formula::kDivide};
    return kFormulas[static_cast<std::size_t>(op)];
  }
  static Formula reversed(Formula formula) {
    if (formula == Formula::kSubtract) return Formula::kSubtractFromRight;
    return formula == Formula::kDivide ? Formula::kDivideRight : formula;
  }
};

}  // namespace edgewise::kernels
