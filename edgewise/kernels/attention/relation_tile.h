// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "edgewise/kernels/attention/tile_attention.h"

namespace edgewise::kernels {

/// The integers `[begin, end)`; empty if end <= begin.
struct IndexRange {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t size() const { return end - begin; }
};

/// `count` consecutive sources from `source` on. They are the columns from `column` on of a tile.
struct SourceSpan {
  std::int64_t column;
  std::int64_t source;
  std::int64_t count;
};

/// The edges between the rows of a block and some of its sources, which are the tile's columns.
class RelationTile {
 public:
  /// `sources` is an argument that for_tiles(plan, block) passes, or SourceTile::sources of the plan.
  RelationTile(const TilePlan& plan, const RowBlock& block, Interval sources);

  std::int64_t num_rows() const { return num_rows_; }
  std::int64_t num_columns() const { return num_columns_; }
  bool is_empty() const { return is_empty_; }

  /// Returns the smallest range that holds the columns to which a row has edges; {0, 0} for none.
  IndexRange columns(std::int64_t row) const { return {begin_[row], end_[row]}; }

  /// Returns the row's first edge in the tile. The row's other edges follow in ascending order of columns.
  EdgeIndex first_edge(std::int64_t row) const { return first_edge_[row]; }

  /// Returns whether each row has edges from all of columns(row).
  bool has_contiguous_rows() const { return cells_ == nullptr; }

  /// Returns the edges of a row from the 16 columns of a group: bit i is set if there is an edge from column
  /// 16 * group + i. Requires !has_contiguous_rows().
  std::uint16_t bits(std::int64_t row, std::int64_t group) const { return cells_[row * cell_stride_ + group].bits; }

  /// Calls fn(i, column) for each edge first_edge(row) + i of a row, in ascending order of columns.
  template <class Fn>
  void for_edges(std::int64_t row, Fn fn) const {
    std::int64_t i = 0;
    if (has_contiguous_rows()) {
      for (std::int64_t column = begin_[row]; column < end_[row]; ++column) fn(i++, column);
      return;
    }
    for (std::int64_t group = begin_[row] / kGroupSources; group * kGroupSources < end_[row]; ++group) {
      for (unsigned remaining = bits(row, group); remaining != 0; remaining &= remaining - 1) {
        fn(i++, group * kGroupSources + std::countr_zero(remaining));
      }
    }
  }

  /// Returns whether all columns are consecutive sources.
  bool has_one_span() const { return num_spans_ == 1; }

  /// Calls fn(span) for each SourceSpan, in ascending order.
  template <class Fn>
  void for_spans(Fn fn) const {
    std::for_each_n(spans_.begin(), num_spans_, fn);
  }

  /// Returns the smallest range that holds the columns of the rows `[first, first + count)`.
  IndexRange columns_of_rows(std::int64_t first, std::int64_t count) const;

  /// Returns a range that holds all rows with an edge from one of the columns `[first, first + count)`.
  IndexRange rows_of_columns(std::int64_t first, std::int64_t count) const;

  /// Returns whether the tile holds all edges of its rows, numbered consecutively from first_edge(0) on.
  bool has_whole_rows() const { return has_whole_rows_; }

 private:
  void cut_intervals(const RelationView& relation, std::int64_t first_row, Interval sources);
  void cut_csr(const TilePlan& plan, const RowBlock& block, Interval sources);
  void add_group(std::int64_t source, std::int64_t count);

  std::int64_t num_rows_;
  std::int64_t num_columns_ = 0;
  std::int64_t num_spans_ = 0;
  bool is_empty_ = true;
  bool has_whole_rows_ = true;
  const TileCell* cells_ = nullptr;  // [rows, cell_stride_] from the tile's first group on; null for intervals
  std::int64_t cell_stride_ = 0;
  std::array<SourceSpan, kTileSources / kGroupSources> spans_;
  std::array<std::int32_t, kTileRows> begin_;
  std::array<std::int32_t, kTileRows> end_;
  std::array<EdgeIndex, kTileRows> first_edge_;
  std::array<std::int32_t, kTileRows> max_end_;    // the largest end_ of the rows up to each row
  std::array<std::int32_t, kTileRows> min_begin_;  // the smallest begin_ of the rows from each row on
};

/// Calls fn(interval of sources) for each tile of a block.
template <class Fn>
void for_tiles(const TilePlan& plan, const RowBlock& block, Fn fn) {
  if (block.group_begin < block.group_end) {
    constexpr std::int64_t kMaxGroups = kTileSources / kGroupSources;
    for (std::int64_t group = block.group_begin; group < block.group_end; group += kMaxGroups) {
      const std::int64_t next = group + kMaxGroups;
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
