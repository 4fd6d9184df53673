// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace edgewise {

/// Named tensors with one row a node (or one an edge): a column each. Tensors are on the CPU, of any element type.
class Frame {
 public:
  /// `row_name` is what errors call a row.
  explicit Frame(std::int64_t num_rows = 0, std::string_view row_name = "row")
      : num_rows_(num_rows), row_name_(row_name) {}

  std::int64_t num_rows() const { return num_rows_; }
  const std::string& row_name() const { return row_name_; }
  bool has(std::string_view name) const;

  /// Throws Error, naming the columns there are, when there is none of that name.
  const at::Tensor& get(std::string_view name) const;
  /// Rows `rows` (int64) of a column.
  at::Tensor get(std::string_view name, const at::Tensor& rows) const;

  /// Replaces a column as a whole, whatever it was before. Throws Error unless it has one row a row of the frame.
  void set(std::string_view name, at::Tensor column);

  /// Writes some rows, each named once; the others keep what they had, or zero when the column is new. Differentiable:
  /// the column is replaced, not written in place, which costs a copy of it. Throws Error when `values` does not have
  /// one row a row named, or differs from the column in element type or in the shape of a row.
  void set(std::string_view name, const at::Tensor& rows, const at::Tensor& values);

  /// Throws Error when there is no column of that name.
  void erase(std::string_view name);
  const std::map<std::string, at::Tensor, std::less<>>& columns() const { return columns_; }

 private:
  void check_has(std::string_view caller, std::string_view name) const;
  void check_on_cpu(std::string_view name, const at::Tensor& values) const;

  std::int64_t num_rows_ = 0;
  std::string row_name_;
  std::map<std::string, at::Tensor, std::less<>> columns_;
};

}  // namespace edgewise
