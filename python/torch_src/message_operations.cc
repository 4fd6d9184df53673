// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/kernels/message/edge_sum.h"
#include "operations.h"
#include "relations.h"

namespace edgewise::torch_operations {
namespace {

using kernels::EdgeEnd;
using kernels::EdgeOperator;

// The numbers of the kinds of rows, as in operations.h.
constexpr std::int64_t kSources = 0;
constexpr std::int64_t kDestinations = 1;
constexpr std::int64_t kEdges = 2;

std::int64_t count_rows(const Relation& relation, std::int64_t rows_of) {
  if (rows_of == kEdges) return relation.num_edges();
  return rows_of == kSources ? relation.num_sources() : relation.num_destinations();
}

std::vector<std::int64_t> row_sizes(const Tensor& rows) {
  const auto sizes = rows.sizes();
  return {sizes.begin() + 1, sizes.end()};
}

/// Checks that `numbers` are rows of a tensor with `num_rows` rows.
void check_numbers(std::string_view function, const std::optional<Tensor>& numbers, const Relation& relation,
                   std::int64_t num_rows) {
  if (!numbers) return;
  check_shape(function, "numbers", *numbers, {relation.num_edges()});
  check_type(function, "numbers", *numbers, ScalarType::Long);
  check(numbers->is_contiguous(), "{}: numbers are not contiguous, need to be", function);
  const auto* values = data_of<const std::int64_t>(*numbers);
  for (EdgeIndex edge = 0; edge < relation.num_edges(); ++edge) {
    check(values[edge] >= 0 && values[edge] < num_rows, "{}: numbers hold {}, need numbers in [0, {})", function,
          values[edge], num_rows);
  }
}

/// A message, whose tensors are contiguous.
struct CheckedMessage {
  std::int64_t op;
  Tensor left;
  std::optional<Tensor> right;
  std::int64_t left_rows, right_rows;
  std::optional<Tensor> left_numbers, right_numbers;

  void check_operands(std::string_view function, const Relation& relation) const {
    check(op >= 0 && op <= 4 && (op == 0) != right.has_value(), "{}: op is {} with{} a right operand", function, op,
          right ? "" : "out");
    check_operand(function, "left", relation, left, left_rows, left_numbers);
    if (!right) return;
    check_operand(function, "right", relation, *right, right_rows, right_numbers);
    check_type(function, "right", *right, left.scalar_type());
  }

  kernels::RowBroadcast broadcast(const std::vector<std::int64_t>& row_shape) const {
    return kernels::broadcast_rows(row_sizes(left), right ? row_sizes(*right) : std::vector<std::int64_t>(), row_shape);
  }

  /// `by_source`: the kernel's rows are the sources, else the destinations.
  template <typename T>
  kernels::RowMessage<T> arguments(const kernels::RowBroadcast& broadcast, bool by_source) const {
    kernels::RowMessage<T> message = {
        static_cast<EdgeOperator>(op), operand<T>(left, left_rows, left_numbers, by_source), {}, &broadcast};
    if (right) message.right = operand<T>(*right, right_rows, right_numbers, by_source);
    return message;
  }

 private:
  static void check_operand(std::string_view function, std::string_view name, const Relation& relation,
                            const Tensor& rows, std::int64_t rows_of, const std::optional<Tensor>& numbers) {
    check(rows_of >= kSources && rows_of <= kEdges, "{}: the rows of {} are {}, need 0, 1 or 2", function, name,
          rows_of);
    check(rows.is_cpu(), "{}: {} is not on the CPU, needs to be", function, name);
    check(rows.dim() > 0 && (rows_of == kEdges && numbers ? true : rows.size(0) == count_rows(relation, rows_of)),
          "{}: {} does not have one row for each row of its kind", function, name);
    if (rows_of == kEdges) check_numbers(function, numbers, relation, rows.size(0));
  }

  template <typename T>
  static kernels::EdgeOperand<T> operand(const Tensor& rows, std::int64_t rows_of, const std::optional<Tensor>& numbers,
                                         bool by_source) {
    const EdgeEnd end = rows_of == kEdges                                   ? EdgeEnd::kEdge
                        : rows_of == (by_source ? kSources : kDestinations) ? EdgeEnd::kRow
                                                                            : EdgeEnd::kOther;
    const bool has_numbers = rows_of == kEdges && numbers.has_value();
    return {data_of<const T>(rows), end, rows.size(0), has_numbers ? data_of<const std::int64_t>(*numbers) : nullptr};
  }
};

CheckedMessage take_message(std::int64_t op, const Tensor& left, const std::optional<Tensor>& right,
                            std::int64_t left_rows, std::int64_t right_rows, const std::optional<Tensor>& left_numbers,
                            const std::optional<Tensor>& right_numbers) {
  return {op,         as_contiguous(left),         as_contiguous(right),        left_rows,
          right_rows, as_contiguous(left_numbers), as_contiguous(right_numbers)};
}

struct NumberedSum {
  CheckedMessage message;
  std::vector<std::int64_t> row_shape;
};

/// Reads the sums of edge_sums().
std::vector<NumberedSum> take_sums(std::string_view function, const std::vector<Tensor>& tensors,
                                   const std::vector<Tensor>& numbers, const std::vector<std::int64_t>& messages,
                                   const std::vector<std::int64_t>& row_shapes) {
  constexpr std::size_t kNumbersOfSum = 8;
  check(!messages.empty() && messages.size() % kNumbersOfSum == 0, "{}: messages has {} numbers, needs 8 for each sum",
        function, messages.size());
  const auto at_or_none = [&](const std::vector<Tensor>& from, std::int64_t i) -> std::optional<Tensor> {
    check(i < std::ssize(from), "{}: a sum reads tensor {}, but there are {}", function, i, from.size());
    return i < 0 ? std::nullopt : std::optional(from[i]);
  };
  std::vector<NumberedSum> sums;
  auto shape = row_shapes.begin();
  for (auto m = messages.begin(); m != messages.end(); m += kNumbersOfSum) {
    const std::optional<Tensor> left = at_or_none(tensors, m[1]);
    check(left.has_value(), "{}: a sum has no left operand", function);
    check(m[7] >= 0 && m[7] <= row_shapes.end() - shape, "{}: row_shapes has too few numbers", function);
    sums.push_back({take_message(m[0], *left, at_or_none(tensors, m[4]), m[2], m[5], at_or_none(numbers, m[3]),
                                 at_or_none(numbers, m[6])),
                    {shape, shape + m[7]}});
    shape += m[7];
  }
  return sums;
}

kernels::EdgeRows edge_rows(const Relation& relation, bool by_source) {
  const auto& lists = relation.derive<kernels::EdgeOrders>();
  return by_source ? lists.by_source() : lists.by_destination();
}

Tensor allocate_rows(std::int64_t num_rows, std::vector<std::int64_t> row_shape, ScalarType type) {
  row_shape.insert(row_shape.begin(), num_rows);
  return allocate({row_shape.data(), row_shape.size()}, type);
}

template <typename T>
void fill_with_zeros(const Tensor& tensor) {
  std::fill_n(data_of<T>(tensor), tensor.numel(), T(0.0f));
}

}  // namespace

Tensor edge_sum(const Tensor& left, const std::optional<Tensor>& right, const std::optional<Tensor>& left_numbers,
                const std::optional<Tensor>& right_numbers, const std::optional<Tensor>& numbers,
                const Tensor& row_begin, const Tensor& sources, const Tensor& handle, std::int64_t num_sources,
                std::int64_t op, std::int64_t left_rows, std::int64_t right_rows, std::int64_t rows_of,
                std::int64_t num_rows, std::vector<std::int64_t> row_shape) {
  constexpr auto kName = "edge_sum";
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, num_sources);
  const CheckedMessage message = take_message(op, left, right, left_rows, right_rows, left_numbers, right_numbers);
  message.check_operands(kName, relation);
  check(rows_of >= kSources && rows_of <= kEdges, "{}: the rows of the result are {}, need 0, 1 or 2", kName, rows_of);
  const bool has_numbers = rows_of == kEdges && numbers.has_value();
  check(has_numbers || num_rows == count_rows(relation, rows_of), "{}: num_rows is {}, needs {}", kName, num_rows,
        count_rows(relation, rows_of));
  const std::optional<Tensor> out_numbers = has_numbers ? as_contiguous(numbers) : std::nullopt;
  check_numbers(kName, out_numbers, relation, num_rows);
  const bool by_source = rows_of == kSources;
  const kernels::RowBroadcast broadcast = message.broadcast(row_shape);
  const Tensor out = allocate_rows(num_rows, std::move(row_shape), left.scalar_type());
  with_floating_point(kName, left, [&](auto zero) {
    using T = decltype(zero);
    const kernels::RowMessage<T> arguments = message.arguments<T>(broadcast, by_source);
    if (rows_of != kEdges) {
      const kernels::SumEdges<T> sum = {arguments, data_of<T>(out)};
      return kernels::sum_edges(std::span<const kernels::SumEdges<T>>(&sum, 1), edge_rows(relation, by_source));
    }
    if (has_numbers) fill_with_zeros<T>(out);
    const auto* rows = has_numbers ? data_of<const std::int64_t>(*out_numbers) : nullptr;
    kernels::write_edges(kernels::WriteEdges<T>{arguments, data_of<T>(out), rows}, edge_rows(relation, by_source));
  });
  return out;
}

std::vector<Tensor> edge_sums(const std::vector<Tensor>& tensors, const std::vector<Tensor>& numbers,
                              const Tensor& row_begin, const Tensor& sources, const Tensor& handle,
                              std::int64_t num_sources, const std::vector<std::int64_t>& messages,
                              const std::vector<std::int64_t>& row_shapes, bool by_source) {
  constexpr auto kName = "edge_sums";
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, num_sources);
  const std::vector<NumberedSum> numbered = take_sums(kName, tensors, numbers, messages, row_shapes);
  const std::int64_t num_rows = count_rows(relation, by_source ? kSources : kDestinations);
  std::vector<kernels::RowBroadcast> broadcasts;
  std::vector<Tensor> results;
  for (const auto& [message, row_shape] : numbered) {
    message.check_operands(kName, relation);
    check_type(kName, "left", message.left, tensors.front().scalar_type());
    broadcasts.push_back(message.broadcast(row_shape));
    results.push_back(allocate_rows(num_rows, row_shape, message.left.scalar_type()));
  }
  with_floating_point(kName, tensors.front(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<kernels::SumEdges<T>> sums;
    for (std::size_t i = 0; i < results.size(); ++i) {
      sums.push_back({numbered[i].message.arguments<T>(broadcasts[i], by_source), data_of<T>(results[i])});
    }
    kernels::sum_edges(std::span<const kernels::SumEdges<T>>(sums), edge_rows(relation, by_source));
  });
  return results;
}

std::tuple<Tensor, Tensor> edge_extremum(const Tensor& left, const std::optional<Tensor>& right,
                                         const std::optional<Tensor>& left_numbers,
                                         const std::optional<Tensor>& right_numbers, const Tensor& row_begin,
                                         const Tensor& sources, const Tensor& handle, std::int64_t num_sources,
                                         std::int64_t op, std::int64_t left_rows, std::int64_t right_rows,
                                         bool is_maximum, bool needs_entries, std::vector<std::int64_t> row_shape) {
  constexpr auto kName = "edge_extremum";
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, num_sources);
  const CheckedMessage message = take_message(op, left, right, left_rows, right_rows, left_numbers, right_numbers);
  message.check_operands(kName, relation);
  const kernels::RowBroadcast broadcast = message.broadcast(row_shape);
  check(broadcast.out_reading() == kernels::RowReading::kWhole, "{}: row_shape is not that of the messages", kName);
  const std::int64_t num_rows = relation.num_destinations();
  const Tensor out = allocate_rows(num_rows, std::move(row_shape), left.scalar_type());
  const Tensor entry = allocate({needs_entries ? out.numel() : 0}, ScalarType::Int);
  with_floating_point(kName, left, [&](auto zero) {
    using T = decltype(zero);
    kernels::find_extrema(
        kernels::FindExtrema<T>{message.arguments<T>(broadcast, /*by_source=*/false), is_maximum, data_of<T>(out),
                                needs_entries ? data_of<std::int32_t>(entry) : nullptr},
        edge_rows(relation, /*by_source=*/false));
  });
  return {out, entry};
}

std::tuple<Tensor, Tensor> edge_extremum_backward(const Tensor& grad_out, const Tensor& entry, const Tensor& left,
                                                  const std::optional<Tensor>& right,
                                                  const std::optional<Tensor>& left_numbers,
                                                  const std::optional<Tensor>& right_numbers, const Tensor& row_begin,
                                                  const Tensor& sources, const Tensor& handle, std::int64_t num_sources,
                                                  std::int64_t op, std::int64_t left_rows, std::int64_t right_rows) {
  constexpr auto kName = "edge_extremum";
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, num_sources);
  const CheckedMessage message = take_message(op, left, right, left_rows, right_rows, left_numbers, right_numbers);
  message.check_operands(kName, relation);
  const Tensor grad = as_contiguous(grad_out);
  check(grad.dim() > 0 && grad.size(0) == relation.num_destinations(), "{}: the gradient has too few rows", kName);
  check_type(kName, "the gradient", grad, left.scalar_type());
  const kernels::RowBroadcast broadcast = message.broadcast(row_sizes(grad));
  check(broadcast.out_reading() == kernels::RowReading::kWhole, "{}: the gradient has another shape", kName);
  check_shape(kName, "entry", entry, {grad.numel()});
  check_type(kName, "entry", entry, ScalarType::Int);
  const auto* entries = data_of<const std::int32_t>(entry);
  for (std::int64_t row = 0; row < relation.num_destinations(); ++row) {
    const EdgeIndex count = relation.row_begin()[row + 1] - relation.row_begin()[row];
    const bool fits = std::all_of(entries + row * broadcast.size, entries + (row + 1) * broadcast.size,
                                  [&](std::int32_t chosen) { return chosen < count; });
    check(fits, "{}: an entry is not in its row", kName);
  }
  const ScalarType sum_type = accumulator_type(left);
  const Tensor grad_left = allocate(left.sizes(), sum_type);
  const Tensor grad_right = right ? allocate(right->sizes(), sum_type) : allocate({0}, sum_type);
  with_floating_point(kName, left, [&](auto zero) {
    using T = decltype(zero);
    using Number = kernels::AccumulatorType<T>;
    fill_with_zeros<Number>(grad_left);
    fill_with_zeros<Number>(grad_right);
    kernels::differentiate_extrema(
        kernels::DifferentiateExtrema<T>{message.arguments<T>(broadcast, /*by_source=*/false), entries,
                                         data_of<const T>(grad), data_of<Number>(grad_left),
                                         right ? data_of<Number>(grad_right) : nullptr},
        edge_rows(relation, /*by_source=*/false));
  });
  return {grad_left, grad_right};
}

}  // namespace edgewise::torch_operations
