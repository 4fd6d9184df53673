// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "edgewise/kernels/attention/tile_plan.h"

namespace edgewise::kernels {

/// Numbers from `begin` to before `end`; none where end <= begin.
struct Range {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t size() const { return end - begin; }
};

/// Columns of a tile that are consecutive sources.
struct Stretch {
  std::int64_t column;
  std::int64_t source;
  std::int64_t count;
};

/// Rows of a block against some of its sources, its columns: who sees whom, and by which edges.
class Tile {
 public:
  /// `sources` is one of for_tiles_of(plan, block), or a tile of the plan.
  Tile(const RelationView& relation, const TilePlan& plan, const RowBlock& block, Interval sources);

  std::int64_t num_rows() const { return num_rows_; }
  std::int64_t num_columns() const { return num_columns_; }
  bool is_empty() const { return is_empty_; }

  /// The smallest range that holds the columns that a row sees; {0, 0} for none.
  Range columns(std::int64_t row) const { return {begin_[row], end_[row]}; }

  /// The edge from the first column that a row sees; the edges to the next columns that it sees follow.
  EdgeIndex first_edge(std::int64_t row) const { return first_edge_[row]; }

  /// Whether a row sees all of columns(row).
  bool sees_all_between() const { return cells_ == nullptr; }

  /// What a row sees of the columns from 16 * group on, bit by bit. Not where it sees all between.
  std::uint16_t bits(std::int64_t row, std::int64_t group) const { return cells_[row * cell_stride_ + group].bits; }

  /// Calls fn(i, column) for the columns that a row sees; their edges are first_edge(row) + i.
  template <class Fn>
  void for_edges(std::int64_t row, Fn fn) const {
    std::int64_t i = 0;
    if (sees_all_between()) {
      for (std::int64_t column = begin_[row]; column < end_[row]; ++column) fn(i++, column);
      return;
    }
    for (std::int64_t group = begin_[row] / kGroupSources; group * kGroupSources < end_[row]; ++group) {
      for (unsigned left = bits(row, group); left != 0; left &= left - 1) {
        fn(i++, group * kGroupSources + std::countr_zero(left));
      }
    }
  }

  /// Whether the columns are consecutive sources.
  bool is_one_stretch() const { return num_stretches_ == 1; }

  template <class Fn>
  void for_stretches(Fn fn) const {
    std::for_each_n(stretches_.begin(), num_stretches_, fn);
  }

  /// The smallest range that holds the columns of some rows.
  Range columns_of_rows(std::int64_t first, std::int64_t count) const;

  /// A range that holds all rows which see one of some columns.
  Range rows_of_columns(std::int64_t first, std::int64_t count) const;

  /// Whether the edges of all rows follow one another without a gap, and are all edges of the rows.
  bool has_whole_rows() const { return has_whole_rows_; }

 private:
  void cut_intervals(const RelationView& relation, std::int64_t first_row, Interval sources);
  void cut_lists(const RelationView& relation, const TilePlan& plan, const RowBlock& block, Interval sources);
  void add_group(std::int64_t source, std::int64_t count);

  std::int64_t num_rows_;
  std::int64_t num_columns_ = 0;
  std::int64_t num_stretches_ = 0;
  bool is_empty_ = true;
  bool has_whole_rows_ = true;
  const TileCell* cells_ = nullptr;  // [rows, cell_stride_] from the first group on
  std::int64_t cell_stride_ = 0;
  std::array<Stretch, kTileSources / kGroupSources> stretches_;
  std::array<std::int32_t, kTileRows> begin_;
  std::array<std::int32_t, kTileRows> end_;
  std::array<EdgeIndex, kTileRows> first_edge_;
  std::array<std::int32_t, kTileRows> end_so_far_;     // the largest end up to a row
  std::array<std::int32_t, kTileRows> begin_from_on_;  // the smallest begin from a row on
};

/// Calls fn(sources) for the sources of a block, as many at a time as fill a tile.
template <class Fn>
void for_tiles_of(const TilePlan& plan, const RowBlock& block, Fn fn) {
  if (block.group_begin < block.group_end) {
    constexpr std::int64_t kMostGroups = kTileSources / kGroupSources;
    for (std::int64_t group = block.group_begin; group < block.group_end; group += kMostGroups) {
      const std::int64_t next = group + kMostGroups;
      fn(Interval{plan.groups[group], next < block.group_end ? plan.groups[next] : block.sources.end});
    }
    return;
  }
  for (NodeIndex begin = block.sources.begin; begin < block.sources.end;) {
    const NodeIndex size = std::min(static_cast<NodeIndex>(kTileSources), block.sources.end - begin);
    fn(Interval{begin, begin + size});
    begin += size;
  }
}

}  // namespace edgewise::kernels
