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

/// Adds the gradients of the elements [begin, end) of the rows, one row after another.
template <typename T, EdgeOperator kOp>
class ExtremumGradients {
 public:
  ExtremumGradients(const DifferentiateExtrema<T>& p, const EdgeRows& rows, std::int64_t begin, std::int64_t end)
      : p_(p), rows_(rows), begin_(begin), end_(end) {}

  void add_row(std::int64_t row) const {
    const T* grad_out = p_.grad_out + row * broadcast_.size;
    for_elements(row, [&](std::int64_t i, std::int64_t l, std::int64_t r) {
      const auto grad = static_cast<Number>(grad_out[i]);
      if constexpr (kOp == EdgeOperator::kCopy) {
        p_.grad_left[l] += grad;
      } else {
        if (p_.grad_left != nullptr) p_.grad_left[l] += left_gradient(grad, l, r);
        if (p_.grad_right != nullptr) p_.grad_right[r] += right_gradient(grad, l, r);
      }
    });
  }

  /// Prefetches the gradients that add_row() changes: most of them belong to other nodes, far apart in memory.
  void prefetch_row(std::int64_t row) const {
    for_elements(row, [&](std::int64_t /*i*/, std::int64_t l, std::int64_t r) {
      if (p_.grad_left != nullptr) __builtin_prefetch(p_.grad_left + l, /*rw=*/1);
      if (p_.grad_right != nullptr) __builtin_prefetch(p_.grad_right + r, /*rw=*/1);
    });
  }

 private:
  using Number = AccumulatorType<T>;

  /// Calls fn(element, its offset in the left operand, its offset in the right operand) for the elements with extrema.
  template <class Fn>
  void for_elements(std::int64_t row, Fn fn) const {
    const std::int32_t* chosen = p_.entry + row * broadcast_.size;
    const std::int64_t length = broadcast_.run_length;
    const std::int64_t first_run = begin_ / length;
    const RowBroadcast::Run* run = broadcast_.runs.data() + first_run;
    for (std::int64_t run_begin = first_run * length; run_begin < end_; run_begin += length, ++run) {
      const std::int64_t last = std::min(end_, run_begin + length);
      for (std::int64_t i = std::max(begin_, run_begin); i < last; ++i) {
        if (chosen[i] < 0) continue;
        const EdgeIndex entry = rows_.row_begin[row] + chosen[i];
        const std::int64_t step = i - run_begin;
        const std::int64_t l = left_.offset(rows_, row, entry) + run->left + (broadcast_.left_steps ? step : 0);
        if constexpr (kOp == EdgeOperator::kCopy) {
          fn(i, l, 0);
        } else {
          fn(i, l, right_.offset(rows_, row, entry) + run->right + (broadcast_.right_steps ? step : 0));
        }
      }
    }
  }

  Number left_gradient(Number grad, std::int64_t /*l*/, std::int64_t r) const {
    const auto right = static_cast<Number>(p_.message.right.data[r]);
    if constexpr (kOp == EdgeOperator::kMultiply) return grad * right;
    if constexpr (kOp == EdgeOperator::kDivide) return grad / right;
    return grad;
  }

  Number right_gradient(Number grad, std::int64_t l, std::int64_t r) const {
    const auto left = static_cast<Number>(p_.message.left.data[l]);
    const auto right = static_cast<Number>(p_.message.right.data[r]);
    if constexpr (kOp == EdgeOperator::kMultiply) return grad * left;
    if constexpr (kOp == EdgeOperator::kDivide) return -(grad * left / (right * right));
    return kOp == EdgeOperator::kSubtract ? -grad : grad;
  }

  const DifferentiateExtrema<T>& p_;
  const EdgeRows& rows_;
  const RowBroadcast& broadcast_ = *p_.message.broadcast;
  ChosenRows<T> left_ = {p_.message.left, broadcast_.left_size};
  ChosenRows<T> right_ = {p_.message.right, broadcast_.right_size};
  std::int64_t begin_;
  std::int64_t end_;
};

template <typename T, EdgeOperator kOp>
void add_gradients(const DifferentiateExtrema<T>& p, const EdgeRows& rows, std::int64_t begin, std::int64_t end) {
  const ExtremumGradients<T, kOp> gradients(p, rows, begin, end);
  for (std::int64_t row = 0; row < rows.num_rows; ++row) {
    if (row + 1 < rows.num_rows) gradients.prefetch_row(row + 1);
    gradients.add_row(row);
  }
}

template <typename T>
void add_gradients(const DifferentiateExtrema<T>& p, const EdgeRows& rows, std::int64_t begin, std::int64_t end) {
  switch (p.message.op) {
    case EdgeOperator::kCopy:
      return add_gradients<T, EdgeOperator::kCopy>(p, rows, begin, end);
    case EdgeOperator::kAdd:
      return add_gradients<T, EdgeOperator::kAdd>(p, rows, begin, end);
    case EdgeOperator::kSubtract:
      return add_gradients<T, EdgeOperator::kSubtract>(p, rows, begin, end);
    case EdgeOperator::kMultiply:
      return add_gradients<T, EdgeOperator::kMultiply>(p, rows, begin, end);
    case EdgeOperator::kDivide:
      return add_gradients<T, EdgeOperator::kDivide>(p, rows, begin, end);
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
