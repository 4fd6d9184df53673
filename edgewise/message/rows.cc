// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/rows.h"

#include <ATen/ops/arange.h>

#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/message/describe.h"
#include "edgewise/ops/rows.h"

namespace edgewise {
namespace {

std::span<const std::int64_t> as_span(const at::Tensor& contiguous) {
  return {contiguous.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(contiguous.numel())};
}

/// Returns whether take_rows() takes rows of a column. ATen does everything else, such as rows of integers.
bool can_take_rows(const at::Tensor& column, std::int64_t num_rows) {
  return column.is_floating_point() && num_rows <= std::numeric_limits<NodeIndex>::max();
}

}  // namespace

void check_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller, std::string_view argument) {
  check(numbers.defined() && numbers.scalar_type() == at::kLong && numbers.dim() == 1 && numbers.device().is_cpu(),
        "{}: {} is {}, needs Long [count] on the CPU", caller, argument, describe(numbers));

  const at::Tensor contiguous = numbers.contiguous();
  for (const std::int64_t value : as_span(contiguous)) {
    check(value >= 0 && value < frame.num_rows(), "{}: {} holds {}, but there are {} {}s, counted from 0", caller,
          argument, value, frame.num_rows(), frame.row_name());
  }
}

void check_distinct_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller,
                            std::string_view argument) {
  check_numbers(frame, numbers, caller, argument);

  const at::Tensor contiguous = numbers.contiguous();
  std::vector<bool> occurred(frame.num_rows());
  for (const std::int64_t value : as_span(contiguous)) {
    check(!occurred[value], "{}: {} holds {} twice, needs each number once", caller, argument, value);
    occurred[value] = true;
  }
}

at::Tensor replace_rows(const at::Tensor& column, const at::Tensor& rows, const at::Tensor& values) {
  const std::int64_t num_rows = column.size(0);
  if (!can_take_rows(column, num_rows + values.size(0))) return column.index_copy(0, rows, values);
  std::vector<NodeIndex> order(static_cast<std::size_t>(num_rows));
  std::iota(order.begin(), order.end(), NodeIndex{0});
  auto next = static_cast<NodeIndex>(num_rows);
  const at::Tensor contiguous = rows.contiguous();
  for (const std::int64_t row : as_span(contiguous)) order[static_cast<std::size_t>(row)] = next++;
  return take_rows(std::vector{column, values}, order);
}

Rows::Rows(at::Tensor numbers, bool are_all) : numbers_(std::move(numbers)), are_all_(are_all) {}

Rows Rows::all(std::int64_t num_rows) { return {at::arange(num_rows, at::kLong), true}; }

Rows Rows::some(at::Tensor numbers) { return {std::move(numbers), false}; }

Rows Rows::select(const Frame& frame, const std::optional<at::Tensor>& numbers, std::string_view caller,
                  std::string_view argument) {
  if (!numbers) return all(frame.num_rows());
  check_distinct_numbers(frame, *numbers, caller, argument);
  return some(*numbers);
}

at::Tensor Rows::gather(const at::Tensor& column) const {
  if (are_all_) return column;
  if (!can_take_rows(column, column.size(0))) return column.index_select(0, numbers_);
  const at::Tensor contiguous = numbers_.contiguous();
  const std::span<const std::int64_t> numbers = as_span(contiguous);
  return take_rows(column, std::vector<NodeIndex>(numbers.begin(), numbers.end()));
}

void Rows::write(Frame& frame, std::string_view name, const at::Tensor& values) const {
  if (are_all_) {
    frame.set(name, values);
  } else {
    frame.set(name, numbers_, values);
  }
}

}  // namespace edgewise
