// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/frame.h"

#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/message/describe.h"
#include "edgewise/message/rows.h"

namespace edgewise {

void Frame::check_has(std::string_view caller, std::string_view name) const {
  check(has(name), "{}: {} column '{}' is missing, the columns are {}", caller, row_name_, name,
        describe_names(columns_));
}

void Frame::check_on_cpu(std::string_view name, const at::Tensor& values) const {
  check(values.device().is_cpu(), "Frame::set: {} column '{}' is on {}, needs a tensor on the CPU", row_name_, name,
        values.device().str());
}

const at::Tensor& Frame::get(std::string_view name) const {
  check_has("Frame::get", name);
  return columns_.find(name)->second;
}

at::Tensor Frame::get(std::string_view name, const at::Tensor& rows) const {
  check_numbers(*this, rows, "Frame::get", "rows");
  return get(name).index_select(0, rows);
}

void Frame::set(std::string_view name, at::Tensor column) {
  check(column.defined(), "Frame::set: {0} column '{1}' is undefined, needs a tensor with one row per {0}", row_name_,
        name);
  check(column.dim() > 0 && column.size(0) == num_rows_,
        "Frame::set: {0} column '{1}' is {2}, but there are {3} {0}s, needs one row per {0}", row_name_, name,
        describe(column), num_rows_);
  check_on_cpu(name, column);
  columns_.insert_or_assign(std::string(name), std::move(column));
}

void Frame::set(std::string_view name, const at::Tensor& rows, const at::Tensor& values) {
  check_distinct_numbers(*this, rows, "Frame::set", "rows");
  check(values.defined() && values.dim() > 0 && values.size(0) == rows.size(0),
        "Frame::set: values of {} column '{}' is {}, but {} rows are named, needs one value per row", row_name_, name,
        describe(values), rows.size(0));
  check_on_cpu(name, values);

  std::vector<std::int64_t> shape = values.sizes().vec();
  shape[0] = num_rows_;
  const at::Tensor before = has(name) ? get(name) : values.new_zeros(shape);
  check(has_same_rows(before, values),
        "Frame::set: values of {} column '{}' is {}, but the column is {}, needs rows of one type and shape", row_name_,
        name, describe(values), describe(before));
  set(name, replace_rows(before, rows, values));
}

void Frame::erase(std::string_view name) {
  check_has("Frame::erase", name);
  columns_.erase(columns_.find(name));
}

}  // namespace edgewise
