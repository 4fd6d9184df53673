// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/tile.h"

namespace edgewise::kernels {

Tile::Tile(const RelationView& relation, const TilePlan& plan, const RowBlock& block, Interval sources)
    : num_rows_(block.row_end - block.row_begin) {
  if (relation.intervals != nullptr) {
    cut_intervals(relation, block.row_begin, sources);
  } else {
    cut_lists(relation, plan, block, sources);
  }
  std::int32_t end_so_far = 0;
  for (std::int64_t row = 0; row < num_rows_; ++row) {
    end_so_far = std::max(end_so_far, end_[row]);
    end_so_far_[row] = end_so_far;
  }
  is_empty_ = end_so_far == 0;
  auto begin_from_on = static_cast<std::int32_t>(num_columns_);
  for (std::int64_t row = num_rows_ - 1; row >= 0; --row) {
    if (begin_[row] < end_[row]) begin_from_on = std::min(begin_from_on, begin_[row]);
    begin_from_on_[row] = begin_from_on;
  }
}

void Tile::cut_intervals(const RelationView& relation, std::int64_t first_row, Interval sources) {
  num_columns_ = sources.end - sources.begin;
  stretches_[0] = {.column = 0, .source = sources.begin, .count = num_columns_};
  num_stretches_ = 1;
  for (std::int64_t i = 0; i < num_rows_; ++i) {
    const std::int64_t row = first_row + i;
    const Interval all = relation.intervals[row];
    const Interval seen = {std::max(all.begin, sources.begin), std::min(all.end, sources.end)};
    const bool sees_none = seen.begin >= seen.end;
    begin_[i] = sees_none ? 0 : seen.begin - sources.begin;
    end_[i] = sees_none ? 0 : seen.end - sources.begin;
    first_edge_[i] = relation.row_begin[row] + (sees_none ? 0 : seen.begin - all.begin);
    has_whole_rows_ = has_whole_rows_ && end_[i] - begin_[i] == all.end - all.begin;
  }
}

void Tile::cut_lists(const RelationView& relation, const TilePlan& plan, const RowBlock& block, Interval sources) {
  const auto groups_begin = plan.groups.begin() + block.group_begin;
  const auto groups_end = plan.groups.begin() + block.group_end;
  const auto first = std::lower_bound(groups_begin, groups_end, sources.begin);
  const auto last = std::lower_bound(first, groups_end, sources.end);
  for (auto group = first; group != last; ++group) {
    add_group(*group, std::min<std::int64_t>(kGroupSources, block.sources.end - *group));
  }

  const std::int64_t num_groups = last - first;
  cell_stride_ = groups_end - groups_begin;
  cells_ = plan.cells.data() + block.cell_begin + (first - groups_begin);
  has_whole_rows_ = false;
  for (std::int64_t row = 0; row < num_rows_; ++row) {
    std::int64_t begin = 0;
    std::int64_t end = num_groups;
    while (begin < end && bits(row, begin) == 0) ++begin;
    while (begin < end && bits(row, end - 1) == 0) --end;
    const bool sees_none = begin == end;
    begin_[row] = sees_none ? 0 : static_cast<std::int32_t>(begin * kGroupSources + std::countr_zero(bits(row, begin)));
    end_[row] = sees_none ? 0 : static_cast<std::int32_t>(end * kGroupSources - std::countl_zero(bits(row, end - 1)));
    const EdgeIndex row_begin = relation.row_begin[block.row_begin + row];
    first_edge_[row] = row_begin + (sees_none ? 0 : cells_[row * cell_stride_ + begin].edges_before);
  }
}

void Tile::add_group(std::int64_t source, std::int64_t count) {
  Stretch* last = num_stretches_ == 0 ? nullptr : &stretches_[num_stretches_ - 1];
  if (last != nullptr && last->source + last->count == source) {
    last->count += count;
  } else {
    stretches_[num_stretches_++] = {.column = num_columns_, .source = source, .count = count};
  }
  num_columns_ += count;
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
  // Rows before the first whose end is behind the columns' first see none, and so do rows behind the last one that
  // begins before their end.
  const auto rows_begin = std::upper_bound(end_so_far_.begin(), end_so_far_.begin() + num_rows_, first);
  const auto rows_end = std::lower_bound(begin_from_on_.begin(), begin_from_on_.begin() + num_rows_, first + count);
  const Range rows = {rows_begin - end_so_far_.begin(), rows_end - begin_from_on_.begin()};
  return rows.begin < rows.end ? rows : Range{0, 0};
}

}  // namespace edgewise::kernels
