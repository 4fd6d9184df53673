// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/kernels/cpu/tile_plan.h"

namespace edgewise::kernels {

/// Numbers from `begin` to before `end`; none where end <= begin.
struct Range {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t size() const { return end - begin; }
};

/// Rows of a block against some sources, its columns: who sees whom, and by which edges.
class Tile {
 public:
  Tile(const RelationView& relation, const RowBlock& block, Interval sources);

  std::int64_t first_row() const { return first_row_; }
  std::int64_t first_source() const { return first_source_; }
  std::int64_t num_rows() const { return num_rows_; }
  std::int64_t num_columns() const { return num_columns_; }
  bool is_empty() const { return is_empty_; }

  /// The columns that a row sees; {0, 0} for none.
  Range columns(std::int64_t row) const { return {begin_[row], end_[row]}; }

  /// The edge from the first column that a row sees; the edges to the next columns follow.
  EdgeIndex first_edge(std::int64_t row) const { return first_edge_[row]; }

  /// The smallest range that holds the columns of some rows.
  Range columns_of_rows(std::int64_t first, std::int64_t count) const;

  /// A range that holds all rows which see one of some columns.
  Range rows_of_columns(std::int64_t first, std::int64_t count) const;

  /// Whether the edges of all rows follow one another without a gap, and how many they are.
  bool has_whole_rows() const { return has_whole_rows_; }

 private:
  std::int64_t first_row_;
  std::int64_t first_source_;
  std::int64_t num_rows_;
  std::int64_t num_columns_;
  bool is_empty_ = true;
  bool has_whole_rows_ = true;
  std::array<std::int32_t, kTileRows> begin_;
  std::array<std::int32_t, kTileRows> end_;
  std::array<EdgeIndex, kTileRows> first_edge_;
  std::array<std::int32_t, kTileRows> end_so_far_;     // the largest end up to a row
  std::array<std::int32_t, kTileRows> begin_from_on_;  // the smallest begin from a row on
};

}  // namespace edgewise::kernels
