// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/relation_tile.h"

namespace edgewise::kernels {

RelationTile::RelationTile(const TilePlan& plan, const RowBlock& block, Interval sources)
    : num_rows_(block.row_end - block.row_begin) {
  if (plan.relation.intervals != nullptr) {
    cut_intervals(plan.relation, block.row_begin, sources);
  } else {
    cut_csr(plan, block, sources);
  }
  std::int32_t max_end = 0;
  for (std::int64_t row = 0; row < num_rows_; ++row) {
    max_end = std::max(max_end, end_[row]);
    max_end_[row] = max_end;
  }
  is_empty_ = max_end == 0;
  auto min_begin = static_cast<std::int32_t>(num_columns_);
  for (std::int64_t row = num_rows_ - 1; row >= 0; --row) {
    if (begin_[row] < end_[row]) min_begin = std::min(min_begin, begin_[row]);
    min_begin_[row] = min_begin;
  }
}

void RelationTile::cut_intervals(const RelationView& relation, std::int64_t first_row, Interval sources) {
  num_columns_ = sources.end - sources.begin;
  spans_[0] = {.column = 0, .source = sources.begin, .count = num_columns_};
  num_spans_ = 1;
  for (std::int64_t i = 0; i < num_rows_; ++i) {
    const std::int64_t row = first_row + i;
    const Interval all = relation.intervals[row];
    const Interval common = {std::max(all.begin, sources.begin), std::min(all.end, sources.end)};
    const bool is_empty_row = common.begin >= common.end;
    begin_[i] = is_empty_row ? 0 : common.begin - sources.begin;
    end_[i] = is_empty_row ? 0 : common.end - sources.begin;
    first_edge_[i] = relation.row_begin[row] + (is_empty_row ? 0 : common.begin - all.begin);
    has_whole_rows_ = has_whole_rows_ && end_[i] - begin_[i] == all.end - all.begin;
  }
}

void RelationTile::cut_csr(const TilePlan& plan, const RowBlock& block, Interval sources) {
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
    const bool is_empty_row = begin == end;
    begin_[row] =
        is_empty_row ? 0 : static_cast<std::int32_t>(begin * kGroupSources + std::countr_zero(bits(row, begin)));
    end_[row] =
        is_empty_row ? 0 : static_cast<std::int32_t>(end * kGroupSources - std::countl_zero(bits(row, end - 1)));
    const EdgeIndex row_begin = plan.relation.row_begin[block.row_begin + row];
    first_edge_[row] = row_begin + (is_empty_row ? 0 : cells_[row * cell_stride_ + begin].edges_before);
  }
}

void RelationTile::add_group(std::int64_t source, std::int64_t count) {
  SourceSpan* last = num_spans_ == 0 ? nullptr : &spans_[num_spans_ - 1];
  if (last != nullptr && last->source + last->count == source) {
    last->count += count;
  } else {
    spans_[num_spans_++] = {.column = num_columns_, .source = source, .count = count};
  }
  num_columns_ += count;
}

IndexRange RelationTile::columns_of_rows(std::int64_t first, std::int64_t count) const {
  IndexRange all = {num_columns_, 0};
  for (std::int64_t i = first; i < first + count; ++i) {
    if (begin_[i] == end_[i]) continue;
    all = {std::min<std::int64_t>(all.begin, begin_[i]), std::max<std::int64_t>(all.end, end_[i])};
  }
  return all.begin < all.end ? all : IndexRange{0, 0};
}

IndexRange RelationTile::rows_of_columns(std::int64_t first, std::int64_t count) const {
  // max_end_ and min_begin_ ascend. All rows before rows_begin end at or before column `first`; all rows from rows_end
  // on begin after the last column.
  const auto rows_begin = std::upper_bound(max_end_.begin(), max_end_.begin() + num_rows_, first);
  const auto rows_end = std::lower_bound(min_begin_.begin(), min_begin_.begin() + num_rows_, first + count);
  const IndexRange rows = {rows_begin - max_end_.begin(), rows_end - min_begin_.begin()};
  return rows.begin < rows.end ? rows : IndexRange{0, 0};
}

}  // namespace edgewise::kernels
