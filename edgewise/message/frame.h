// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>

namespace edgewise {

/// Named tensors with one row a node (or one an edge): a column each.
class Frame {
 public:
  explicit Frame(std::int64_t num_rows = 0) : num_rows_(num_rows) {}

  std::int64_t num_rows() const { return num_rows_; }
  bool has(std::string_view name) const;

  /// Throws Error, naming the columns there are, when there is none of that name.
  const at::Tensor& get(std::string_view name) const;
  /// Rows `rows` (int64) of a column.
  at::Tensor get(std::string_view name, const at::Tensor& rows) const;

  void set(std::string_view name, at::Tensor column);

  /// Writes some rows; the others keep what they had, or zero when the column is new. Differentiable: the column is
  /// replaced, not written in place.
  void set(std::string_view name, const at::Tensor& rows, const at::Tensor& values);

  void erase(std::string_view name);
  const std::map<std::string, at::Tensor, std::less<>>& columns() const { return columns_; }

 private:
  std::int64_t num_rows_ = 0;
  std::map<std::string, at::Tensor, std::less<>> columns_;
};

}  // namespace edgewise
