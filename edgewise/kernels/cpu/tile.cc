// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/cpu/tile.h"

#include <algorithm>

namespace edgewise::kernels {

Tile::Tile(const RelationView& relation, const RowBlock& block, Interval sources)
    : first_row_(block.row_begin),
      first_source_(sources.begin),
      num_rows_(block.row_end - block.row_begin),
      num_columns_(sources.end - sources.begin) {
  std::int32_t end_so_far = 0;
  for (std::int64_t i = 0; i < num_rows_; ++i) {
    const std::int64_t row = first_row_ + i;
    const Interval all = relation.intervals[row];
    const Interval seen = {std::max(all.begin, sources.begin), std::min(all.end, sources.end)};
    const bool sees_none = seen.begin >= seen.end;
    begin_[i] = sees_none ? 0 : seen.begin - sources.begin;
    end_[i] = sees_none ? 0 : seen.end - sources.begin;
    first_edge_[i] = relation.row_begin[row] + (sees_none ? 0 : seen.begin - all.begin);
    end_so_far = std::max(end_so_far, end_[i]);
    end_so_far_[i] = end_so_far;
    is_empty_ = is_empty_ && sees_none;
    has_whole_rows_ = has_whole_rows_ && end_[i] - begin_[i] == all.end - all.begin;
  }
  auto begin_from_on = static_cast<std::int32_t>(num_columns_);
  for (std::int64_t i = num_rows_ - 1; i >= 0; --i) {
    if (begin_[i] < end_[i]) begin_from_on = std::min(begin_from_on, begin_[i]);
    begin_from_on_[i] = begin_from_on;
  }
}

Range Tile::columns_of_rows(std::int64_t first, std::int64_t count) const {
  Range all = {num_columns_, 0};
  for (std::int64_t i = first; i < first + count; ++i) {
    if (begin_[i] == end_[i]) continue;
    all = {std::min<std::int64_t>(all.begin, begin_[i]), std::max<std::int64_t>(all.end, end_[i])};
  }
  return all.begin < all.end ? all : Range{0, 0};
}

Range Tile::rows_of_columns(std::int64_t first, std::int64_t count) const {
  // A row beyond those that the columns' last one begins in, or before those that end behind the first, sees none.
  const auto rows_begin = std::upper_bound(end_so_far_.begin(), end_so_far_.begin() + num_rows_, first);
  const auto rows_end = std::lower_bound(begin_from_on_.begin(), begin_from_on_.begin() + num_rows_, first + count);
  const Range rows = {rows_begin - end_so_far_.begin(), rows_end - begin_from_on_.begin()};
  return rows.begin < rows.end ? rows : Range{0, 0};
}

}  // namespace edgewise::kernels
