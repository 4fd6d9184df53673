// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "edgewise/message/frame.h"

// Node and edge numbers as int64 tensors [count] on the CPU.

namespace edgewise {

template <typename Index>
at::Tensor to_tensor(const std::vector<Index>& numbers) {
  return at::tensor(numbers).to(at::kLong);
}

/// Throws Error unless `numbers` is int64 [count] on the CPU, and each number is a row number of `frame`.
void check_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller, std::string_view argument);

/// Checks like check_numbers, and throws Error for a number that occurs twice.
void check_distinct_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller,
                            std::string_view argument);

/// Returns `column` with rows[i] replaced by row i of `values`. `rows` has distinct numbers. Differentiable any number
/// of times.
at::Tensor replace_rows(const at::Tensor& column, const at::Tensor& rows, const at::Tensor& values);

/// A selection of rows of a frame: some rows, by number, or all rows. If all rows are selected,
/// columns are read and replaced without a copy.
class Rows {
 public:
  static Rows all(std::int64_t num_rows);

  /// Selects the rows `numbers`, without a check that they are distinct row numbers of the frame.
  static Rows some(at::Tensor numbers);

  /// Selects the rows `numbers`, or all rows if there are no numbers. Throws Error, with `caller` and `argument` in the
  /// message, unless the numbers are distinct row numbers of the frame.
  static Rows select(const Frame& frame, const std::optional<at::Tensor>& numbers, std::string_view caller,
                     std::string_view argument);

  const at::Tensor& numbers() const { return numbers_; }
  std::int64_t size() const { return numbers_.size(0); }
  bool are_all() const { return are_all_; }

  /// Gathers the selected rows of a tensor that has one row for each row of the frame.
  at::Tensor gather(const at::Tensor& column) const;

  /// Sets the selected rows of column `name` to `values`, which has one row for each selected row.
  void write(Frame& frame, std::string_view name, const at::Tensor& values) const;

 private:
  Rows(at::Tensor numbers, bool are_all);

  at::Tensor numbers_;
  bool are_all_ = false;
};

}  // namespace edgewise
