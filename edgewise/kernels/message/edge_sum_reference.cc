// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/kernels/message/edge_sum.h"
#include "edgewise/kernels/simd/accumulator_type.h"

namespace edgewise::kernels::reference {
namespace {

template <typename Number>
Number apply(EdgeOperator op, Number left, Number right) {
  switch (op) {
    case EdgeOperator::kCopy:
      return left;
    case EdgeOperator::kAdd:
      return left + right;
    case EdgeOperator::kSubtract:
      return left - right;
    case EdgeOperator::kMultiply:
      return left * right;
    case EdgeOperator::kDivide:
      return left / right;
  }
  fail("EdgeOperator: value is {}, needs one of the five that there are", static_cast<int>(op));
}

std::int64_t number_of(const std::int64_t* numbers, EdgeIndex edge) {
  return numbers != nullptr ? numbers[edge] : edge;
}

/// Returns the row of an operand that an entry of `row` reads.
template <typename T>
const T* find_row(const EdgeOperand<T>& operand, std::int64_t size, const EdgeRows& rows, std::int64_t row,
                  EdgeIndex entry) {
  switch (operand.end) {
    case EdgeEnd::kRow:
      return operand.data + row * size;
    case EdgeEnd::kOther:
      return operand.data + rows.node(row, entry) * size;
    case EdgeEnd::kEdge:
      return operand.data + number_of(operand.numbers, rows.edge(entry)) * size;
  }
  return nullptr;
}

/// Calls fn(index in the output's row, element of the message) for each element of an entry's broadcast row.
template <typename T, class Fn>
void for_elements(const RowMessage<T>& message, const EdgeRows& rows, std::int64_t row, EdgeIndex entry, Fn fn) {
  using Number = AccumulatorType<T>;
  const RowBroadcast& b = *message.broadcast;
  const bool has_right = message.op != EdgeOperator::kCopy;
  const T* left = find_row(message.left, b.left_size, rows, row, entry);
  const T* right = has_right ? find_row(message.right, b.right_size, rows, row, entry) : nullptr;
  for (const RowBroadcast::Run& run : b.runs) {
    for (std::int64_t i = 0; i < b.run_length; ++i) {
      const Number l = left[run.left + (b.left_steps ? i : 0)];
      const Number r = has_right ? right[run.right + (b.right_steps ? i : 0)] : T(0.0f);
      fn(run.out + (b.out_steps ? i : 0), apply(message.op, l, r));
    }
  }
}

template <typename T>
void round_row(const std::vector<AccumulatorType<T>>& from, T* to) {
  std::transform(from.begin(), from.end(), to, [](AccumulatorType<T> x) { return static_cast<T>(x); });
}

template <typename T>
void sum_row(const SumEdges<T>& p, const EdgeRows& rows, std::int64_t row) {
  const std::int64_t size = p.message.broadcast->out_size;
  std::vector<AccumulatorType<T>> sum(static_cast<std::size_t>(size), 0);
  for (EdgeIndex entry = rows.row_begin[row]; entry < rows.row_begin[row + 1]; ++entry) {
    for_elements(p.message, rows, row, entry, [&](std::int64_t i, auto element) { sum[i] += element; });
  }
  round_row(sum, p.out + row * size);
}

}  // namespace

template <typename T>
void sum_edges(std::span<const SumEdges<T>> sums, const EdgeRows& rows) {
  for (const SumEdges<T>& p : sums) {
    for (std::int64_t row = 0; row < rows.num_rows; ++row) sum_row(p, rows, row);
  }
}

template <typename T>
void write_edges(const WriteEdges<T>& p, const EdgeRows& rows) {
  const std::int64_t size = p.message.broadcast->out_size;
  std::vector<AccumulatorType<T>> sum(static_cast<std::size_t>(size));
  for (std::int64_t row = 0; row < rows.num_rows; ++row) {
    for (EdgeIndex entry = rows.row_begin[row]; entry < rows.row_begin[row + 1]; ++entry) {
      std::ranges::fill(sum, 0);
      for_elements(p.message, rows, row, entry, [&](std::int64_t i, auto element) { sum[i] += element; });
      round_row(sum, p.out + number_of(p.numbers, rows.edge(entry)) * size);
    }
  }
}

template <typename T>
void find_extrema(const FindExtrema<T>& p, const EdgeRows& rows) {
  const std::int64_t size = p.message.broadcast->size;
  std::vector<AccumulatorType<T>> best(static_cast<std::size_t>(size));
  std::vector<std::int32_t> found(static_cast<std::size_t>(size));
  for (std::int64_t row = 0; row < rows.num_rows; ++row) {
    std::ranges::fill(best, 0);
    std::ranges::fill(found, -1);
    const EdgeIndex first = rows.row_begin[row];
    for (EdgeIndex entry = first; entry < rows.row_begin[row + 1]; ++entry) {
      for_elements(p.message, rows, row, entry, [&](std::int64_t i, auto element) {
        const bool is_better = p.is_maximum ? element > best[i] : element < best[i];
        if (entry != first && (std::isnan(best[i]) || !(is_better || std::isnan(element)))) return;
        best[i] = element;
        found[i] = static_cast<std::int32_t>(entry - first);
      });
    }
    round_row(best, p.out + row * size);
    if (p.entry != nullptr) std::ranges::copy(found, p.entry + row * size);
  }
}

template void sum_edges(std::span<const SumEdges<float>>, const EdgeRows&);
template void sum_edges(std::span<const SumEdges<double>>, const EdgeRows&);
template void sum_edges(std::span<const SumEdges<BFloat16>>, const EdgeRows&);
template void write_edges(const WriteEdges<float>&, const EdgeRows&);
template void write_edges(const WriteEdges<double>&, const EdgeRows&);
template void write_edges(const WriteEdges<BFloat16>&, const EdgeRows&);
template void find_extrema(const FindExtrema<float>&, const EdgeRows&);
template void find_extrema(const FindExtrema<double>&, const EdgeRows&);
template void find_extrema(const FindExtrema<BFloat16>&, const EdgeRows&);

}  // namespace edgewise::kernels::reference
