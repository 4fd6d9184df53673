// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace edgewise {

/// Named tensors (columns) with one row for each node, or each edge; on the CPU, of any element type.
class Frame {
 public:
  /// `row_name` names a row in error texts, such as "node".
  explicit Frame(std::int64_t num_rows = 0, std::string_view row_name = "row")
      : num_rows_(num_rows), row_name_(row_name) {}

  std::int64_t num_rows() const { return num_rows_; }
  const std::string& row_name() const { return row_name_; }
  bool has(std::string_view name) const { return columns_.contains(name); }

  /// Throws Error, which lists the existing columns, when the column is missing.
  const at::Tensor& get(std::string_view name) const;
  /// Returns the rows with numbers `rows`, int64 [N], of a column.
  at::Tensor get(std::string_view name, const at::Tensor& rows) const;

  /// Adds or replaces a whole column, of any type and shape. Throws Error unless it has num_rows() rows.
  void set(std::string_view name, at::Tensor column);

  /// Writes `values` into the rows with numbers `rows`, which are distinct. Other rows keep their values, or are zero
  /// in a new column. Differentiable: copies the column instead of writing in place. Throws Error unless `values` has
  /// one row for each number in `rows`, and the column's element type and row shape.
  void set(std::string_view name, const at::Tensor& rows, const at::Tensor& values);

  /// Throws Error when the column is missing.
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
