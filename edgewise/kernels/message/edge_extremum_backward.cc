// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/message/edge_sum.h"

namespace edgewise::kernels {
namespace {

/// An operand, or its gradient, of the entries that have extrema.
template <typename T>
struct ChosenRows {
  const EdgeOperand<T>& operand;
  std::int64_t size;

  /// Returns the offset of the row that an entry of `row` reads.
  std::int64_t offset(const EdgeRows& rows, std::int64_t row, EdgeIndex entry) const {
    if (operand.end == EdgeEnd::kRow) return row * size;
    if (operand.end == EdgeEnd::kOther) return rows.node(row, entry) * size;
    const EdgeIndex edge = rows.edge(entry);
    return (operand.numbers != nullptr ? operand.numbers[edge] : edge) * size;
  }
};

/// Returns how many elements of a row a thread takes at least, so that no two threads add to one element: elements of a
/// message that read one element of an operand belong together.
std::int64_t elements_together(const RowBroadcast& broadcast, bool has_right) {
  constexpr std::int64_t kCacheLine = 16;
  const auto is = [&](RowReading reading) {
    return broadcast.left_reading() == reading || (has_right && broadcast.right_reading() == reading);
  };
  if (is(RowReading::kRuns)) return broadcast.size;
  return is(RowReading::kRepeated) ? broadcast.run_length : kCacheLine;
}

/// Adds the gradients of the elements [begin, end) of all rows.
template <typename T>
void add_gradients(const DifferentiateExtrema<T>& p, const EdgeRows& rows, std::int64_t begin, std::int64_t end) {
  using Number = AccumulatorType<T>;
  const RowBroadcast& b = *p.message.broadcast;
  const ChosenRows<T> left = {p.message.left, b.left_size};
  const ChosenRows<T> right = {p.message.right, b.right_size};
  const EdgeOperator op = p.message.op;
  const bool has_right = op != EdgeOperator::kCopy;
  for (std::int64_t row = 0; row < rows.num_rows; ++row) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t chosen = p.entry[row * b.size + i];
      if (chosen < 0) continue;
      const EdgeIndex entry = rows.row_begin[row] + chosen;
      const RowBroadcast::Run& run = b.runs[static_cast<std::size_t>(i / b.run_length)];
      const std::int64_t step = i % b.run_length;
      const std::int64_t l = left.offset(rows, row, entry) + run.left + (b.left_steps ? step : 0);
      const auto grad = static_cast<Number>(p.grad_out[row * b.size + i]);
      if (!has_right) {
        p.grad_left[l] += grad;
        continue;
      }
      const std::int64_t r = right.offset(rows, row, entry) + run.right + (b.right_steps ? step : 0);
      const auto left_value = static_cast<Number>(p.message.left.data[l]);
      const auto right_value = static_cast<Number>(p.message.right.data[r]);
      const bool is_product = op == EdgeOperator::kMultiply;
      const bool is_quotient = op == EdgeOperator::kDivide;
      if (p.grad_left != nullptr) {
        p.grad_left[l] += is_product ? grad * right_value : is_quotient ? grad / right_value : grad;
      }
      if (p.grad_right == nullptr) continue;
      if (is_product) {
        p.grad_right[r] += grad * left_value;
      } else if (is_quotient) {
        p.grad_right[r] -= grad * left_value / (right_value * right_value);
      } else {
        p.grad_right[r] += op == EdgeOperator::kSubtract ? -grad : grad;
      }
    }
  }
}

}  // namespace

template <typename T>
void differentiate_extrema(const DifferentiateExtrema<T>& p, const EdgeRows& rows) {
  constexpr std::int64_t kMinElementsPerThread = 16384;
  const RowBroadcast& b = *p.message.broadcast;
  if (b.size == 0 || rows.num_rows == 0) return;
  const std::int64_t together = elements_together(b, p.message.op != EdgeOperator::kCopy);
  const std::int64_t grain = kMinElementsPerThread / (rows.num_rows * together) + 1;
  parallel_for((b.size + together - 1) / together, grain, [&](std::int64_t begin, std::int64_t end) {
    add_gradients(p, rows, begin * together, std::min(end * together, b.size));
  });
}

template void differentiate_extrema(const DifferentiateExtrema<float>&, const EdgeRows&);
template void differentiate_extrema(const DifferentiateExtrema<double>&, const EdgeRows&);
template void differentiate_extrema(const DifferentiateExtrema<BFloat16>&, const EdgeRows&);

}  // namespace edgewise::kernels
