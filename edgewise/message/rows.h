// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "edgewise/message/frame.h"

namespace edgewise {

/// Some rows of a frame by their numbers, or all of them: then columns are read as they stand, and replaced whole.
class Rows {
 public:
  static Rows all(std::int64_t num_rows);

  /// `numbers` must be good: see check_distinct_numbers.
  static Rows some(at::Tensor numbers);

  /// The rows of `numbers`, which are checked, or all rows of `frame` when none are given.
  static Rows of(const Frame& frame, const std::optional<at::Tensor>& numbers, std::string_view caller,
                 std::string_view argument);

  const at::Tensor& numbers() const { return numbers_; }
  std::int64_t size() const { return numbers_.size(0); }

  /// The rows' part of a tensor that has a row for every row of the frame.
  at::Tensor read(const at::Tensor& column) const;
  void write(Frame& frame, std::string_view name, const at::Tensor& values) const;

 private:
  Rows(at::Tensor numbers, bool are_all);

  at::Tensor numbers_;
  bool are_all_ = false;
};

}  // namespace edgewise
