// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/rows.h"

#include <ATen/ops/arange.h>

#include <utility>

#include "edgewise/message/numbers.h"

namespace edgewise {

Rows::Rows(at::Tensor numbers, bool are_all) : numbers_(std::move(numbers)), are_all_(are_all) {}

Rows Rows::all(std::int64_t num_rows) { return {at::arange(num_rows, at::kLong), true}; }

Rows Rows::some(at::Tensor numbers) { return {std::move(numbers), false}; }

Rows Rows::select(const Frame& frame, const std::optional<at::Tensor>& numbers, std::string_view caller,
                  std::string_view argument) {
  if (!numbers) return all(frame.num_rows());
  check_distinct_numbers(frame, *numbers, caller, argument);
  return some(*numbers);
}

at::Tensor Rows::gather(const at::Tensor& column) const { return are_all_ ? column : column.index_select(0, numbers_); }

void Rows::write(Frame& frame, std::string_view name, const at::Tensor& values) const {
  if (are_all_) {
    frame.set(name, values);
  } else {
    frame.set(name, numbers_, values);
  }
}

}  // namespace edgewise
