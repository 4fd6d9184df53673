// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "edgewise/kernels/attention/gradient_arguments_cuda.h"

// The tiles and edges of relations in the interval form. A tile is consecutive sources, or consecutive rows.
namespace edgewise::kernels::device {

/// The edges of a row in a tile: an interval of columns. A row that does not exist is empty.
struct IntervalRow {
  int begin = 0;
  int end = 0;
  EdgeIndex first_edge = 0;

  EDGEWISE_DEVICE bool has(int column) const { return column >= begin && column < end; }
  EDGEWISE_DEVICE EdgeIndex edge(int column) const { return first_edge + (column - begin); }
  EDGEWISE_DEVICE IntervalRow shifted(int count) const { return {begin - count, end - count, first_edge}; }

  template <int kColumns>
  EDGEWISE_DEVICE EdgeRange edges() const {
    const int first = Maximum()(begin, 0);
    const int last = Minimum()(end, kColumns);
    return {edge(first), edge(Maximum()(first, last))};
  }

  template <int kColumns, int /*kLanes*/>
  EDGEWISE_DEVICE std::uint64_t to_columns(std::uint64_t bits) const {
    return bits << Minimum()(Maximum()(begin, 0), 63);  // if begin exceeds 63, bits is 0
  }
};

/// The keys that a group of rows attends to lie in [begin, end).
struct KeyRange {
  int begin;
  int end;

  EDGEWISE_DEVICE bool is_empty() const { return begin >= end; }
  EDGEWISE_DEVICE bool overlaps(int first, int count) const { return first < end && first + count > begin; }
};

/// Returns the smallest range with the keys of all rows, each with the keys of `row`. A collective of the warp.
EDGEWISE_DEVICE KeyRange keys_of_warp(KeyRange row) {
  const int begin = row.is_empty() ? std::numeric_limits<int>::max() : row.begin;
  const int end = row.is_empty() ? 0 : row.end;
  return {reduce_lanes(begin, Minimum()), reduce_lanes(end, Maximum())};
}

EDGEWISE_DEVICE KeyRange join(KeyRange a, KeyRange b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  return {Minimum()(a.begin, b.begin), Maximum()(a.end, b.end)};
}

/// Returns the range of a block from the ranges of its warps. A collective of the block.
template <int kWarps>
EDGEWISE_DEVICE KeyRange keys_of_block(KeyRange of_warp, KeyRange (&of_warps)[kWarps]) {
  if (lane_index() == 0) of_warps[warp_index()] = of_warp;
  synchronize_block();
  KeyRange result = of_warps[0];
  for (int warp = 1; warp < kWarps; ++warp) result = join(result, of_warps[warp]);
  return result;
}

template <class Layout, int kColumns>
class IntervalRowTiles;
template <class Layout>
class IntervalSourceTiles;

struct IntervalEdges {
  static constexpr bool kIsBitmap = false;
  template <class Layout, int kColumns>
  using RowTiles = IntervalRowTiles<Layout, kColumns>;
  template <class Layout>
  using SourceTiles = IntervalSourceTiles<Layout>;

  const Interval* intervals;
  const EdgeIndex* row_begin;
  int num_destinations;
  int num_sources;
  KeyRange* tile_keys;  // workspace of backward: the keys of each kRowsOfTile rows

  IntervalEdges(const RelationView& relation, KeyRange* keys_of_tiles)
      : intervals(relation.intervals),
        row_begin(relation.row_begin),
        num_destinations(static_cast<int>(relation.num_destinations)),
        num_sources(static_cast<int>(relation.num_sources)),
        tile_keys(keys_of_tiles) {}

  /// Returns the row with sources as columns.
  EDGEWISE_DEVICE IntervalRow row(int number) const {
    if (number >= num_destinations) return {};
    return {intervals[number].begin, intervals[number].end, row_begin[number]};
  }

  constexpr int num_row_tiles() const { return num_blocks_for(num_destinations, kRowsOfTile); }

  /// Writes what blocks of sources read about a tile of rows. A collective of the warp.
  EDGEWISE_DEVICE void prepare_row_tile(int tile) const {
    const IntervalRow of_lane = row(tile * kRowsOfTile + lane_index());
    const KeyRange keys = keys_of_warp({of_lane.begin, of_lane.end});
    if (lane_index() == 0) tile_keys[tile] = keys;
  }
};

/// The tiles of kColumns sources of a block of rows: from the first to the last interval of these rows.
template <class Layout, int kColumns>
class IntervalRowTiles {
 public:
  using Row = IntervalRow;
  struct Shared {
    KeyRange of_warps[Layout::kWarps];
  };

  /// A collective of the block.
  EDGEWISE_DEVICE IntervalRowTiles(const IntervalEdges& edges, int block, Shared& shared)
      : first_node_(block * kNodesOfBlock), num_sources_(edges.num_sources) {
    KeyRange of_lane = {0, 0};
    EDGEWISE_UNROLL
    for (int r = 0; r < Layout::kNodesOfLane; ++r) {
      rows_[r] = edges.row(first_node_ + Layout::node(r));
      of_lane = join(of_lane, {rows_[r].begin, rows_[r].end});
    }
    of_warp_ = keys_of_warp(of_lane);
    of_block_ = keys_of_block(of_warp_, shared.of_warps);
  }

  EDGEWISE_DEVICE int first_node() const { return first_node_; }

  EDGEWISE_DEVICE int count() const {
    return of_block_.is_empty() ? 0 : num_blocks_for(of_block_.end - of_block_.begin, kColumns);
  }

  /// Returns the sources of a tile, for copy_nodes().
  EDGEWISE_DEVICE ConsecutiveNodes nodes(int tile) const { return {first_column(tile), num_sources_}; }

  /// Begins to copy what find_rows() reads about a tile, and nodes() about the next one. All threads call this
  /// function.
  EDGEWISE_DEVICE void begin_copy(int /*tile*/) const {}

  /// Sets `rows` to the edges in a tile of the lane's rows. Returns whether a row of the warp has any. A collective of
  /// the warp.
  EDGEWISE_DEVICE bool find_rows(int tile, Row (&rows)[Layout::kNodesOfLane]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < Layout::kNodesOfLane; ++r) rows[r] = rows_[r].shifted(first_column(tile));
    return of_warp_.overlaps(first_column(tile), kColumns);
  }

 private:
  EDGEWISE_DEVICE int first_column(int tile) const { return of_block_.begin + tile * kColumns; }

  int first_node_;
  int num_sources_;
  IntervalRow rows_[Layout::kNodesOfLane];
  KeyRange of_warp_;
  KeyRange of_block_;
};

/// The tiles of kRowsOfTile rows of a block of sources. Two stages of copies are in shared memory. Lane i has row i of
/// a tile.
template <class Layout>
class IntervalSourceTiles {
 public:
  using Row = IntervalRow;
  struct Shared {
    alignas(8) Interval intervals[2][kRowsOfTile];
    EdgeIndex first_edge[2][kRowsOfTile];
    RowRecord records[2][kRowsOfTile];
    int partial[Layout::kWarps];
  };

  /// A collective of the block.
  EDGEWISE_DEVICE IntervalSourceTiles(const IntervalEdges& edges, int block, Shared& shared)
      : edges_(edges), shared_(shared), first_node_(block * kNodesOfBlock) {
    int first = edges_.num_row_tiles();
    int last = 0;
    for (int tile = thread_index(); tile < edges_.num_row_tiles(); tile += Layout::kThreads) {
      if (!may_have_edges(tile)) continue;
      first = Minimum()(first, tile);
      last = tile + 1;
    }
    begin_ = reduce_block<Layout::kThreads>(first, Minimum(), shared_.partial);
    end_ = reduce_block<Layout::kThreads>(last, Maximum(), shared_.partial);
  }

  EDGEWISE_DEVICE int first_node() const { return first_node_; }
  EDGEWISE_DEVICE int begin() const { return begin_; }
  EDGEWISE_DEVICE int end() const { return end_; }

  /// Returns the tile behind `tile`, or else end().
  EDGEWISE_DEVICE int next(int tile) const {
    do {
      ++tile;
    } while (tile < end_ && !may_have_edges(tile));
    return tile;
  }

  /// Returns the rows of a tile, for copy_nodes().
  EDGEWISE_DEVICE ConsecutiveNodes nodes(int tile, int /*stage*/) const {
    return {tile * kRowsOfTile, edges_.num_destinations};
  }

  /// Begins to copy what the functions below read about a tile. All threads call this function.
  template <typename T>
  EDGEWISE_DEVICE void begin_copy(const GradientArguments<T>& p, int tile, int stage) const {
    const int i = thread_index();
    if (i >= kRowsOfTile) return;
    const int row = tile * kRowsOfTile + i;
    const bool is_valid = row < edges_.num_destinations;
    const int valid_row = is_valid ? row : 0;
    copy_async<8>(&shared_.intervals[stage][i], edges_.intervals + valid_row, is_valid);
    copy_async<8>(&shared_.first_edge[stage][i], edges_.row_begin + valid_row, is_valid);
    copy_async<8>(&shared_.records[stage][i], p.records_of_head() + valid_row, is_valid);
  }

  /// Returns the edges of a row of the tile. Column 0 is the first source of the warp.
  EDGEWISE_DEVICE Row row(int stage, int i) const {
    const Interval& interval = shared_.intervals[stage][i];
    return Row{interval.begin, interval.end, shared_.first_edge[stage][i]}.shifted(first_source());
  }

  EDGEWISE_DEVICE RowRecord record(int stage, int i) const { return shared_.records[stage][i]; }

  /// Returns whether a row has an edge from a source of the warp. A collective of the warp.
  EDGEWISE_DEVICE bool has_edges(int stage) const {
    const Interval own = shared_.intervals[stage][lane_index()];
    const bool has_any =
        own.begin < own.end && KeyRange{own.begin, own.end}.overlaps(first_source(), Layout::kNodesOfWarp);
    return ballot(has_any) != 0;
  }

 private:
  EDGEWISE_DEVICE int first_source() const { return first_node_ + warp_index() * Layout::kNodesOfWarp; }
  EDGEWISE_DEVICE bool may_have_edges(int tile) const {
    return edges_.tile_keys[tile].overlaps(first_node_, kNodesOfBlock);
  }

  const IntervalEdges& edges_;
  Shared& shared_;
  int first_node_;
  int begin_;
  int end_;
};

}  // namespace edgewise::kernels::device
