// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "edgewise/graph/relation_view.h"

// How the tile kernels cut a relation. A run is a set of rows that share no source with the others, such as a sentence
// of a batch. How a run is cut depends on the run alone, so its results do not depend on the batch.
namespace edgewise::kernels {

/// Rows of one block, and columns of one tile, at most: a tile of scores and what it is made from stay in cache.
inline constexpr std::int64_t kTileRows = 64;
inline constexpr std::int64_t kTileSources = 128;

/// Lists are cut into groups of sources. A block's tiles hold the groups that one of its rows sees, side by side.
inline constexpr std::int64_t kGroupSources = 16;
inline constexpr std::int64_t kListBlockRows = 32;

/// Weights over at most so many sources are kept for backward: as fast as computing them again, or faster, and they
/// take a quarter of the memory of queries, keys, values and outputs at heads of this size.
inline constexpr std::int64_t kMostKeptSources = 64;

/// Consecutive rows of a run, and the smallest interval that holds all their sources; of lists, made of whole groups.
struct RowBlock {
  std::int64_t row_begin;
  std::int64_t row_end;
  Interval sources;
  std::int64_t cost;             // a head, in about the time of an edge
  std::int64_t group_begin = 0;  // in TilePlan::groups; of lists only
  std::int64_t group_end = 0;
  std::int64_t cell_begin = 0;   // in TilePlan::cells
  std::int64_t kept_begin = -1;  // in a head's kept weights; -1: they are not kept
};

/// What a row sees of a group: bit i is source i. The row has `edges_before` edges to groups before this one.
struct TileCell {
  std::uint16_t bits = 0;
  std::int32_t edges_before = 0;
};

/// At most kTileSources sources of a run, and the blocks among which are all that see one of them.
struct SourceTile {
  Interval sources;
  std::int64_t block_begin;
  std::int64_t block_end;
  std::int64_t cost;  // as RowBlock's
};

struct TileRun {
  std::int64_t block_begin = 0;
  std::int64_t block_end = 0;
  std::int64_t tile_begin = 0;
  std::int64_t tile_end = 0;
  Interval sources;
  std::int64_t cost = 0;
};

/// Whether each row's sources ascend, no source twice. Intervals do.
bool rows_ascend(const RelationView& relation);

struct TilePlan {
  /// Intervals take O(rows) time and memory, lists up to the size of their tiles. Throws Error unless
  /// rows_ascend(relation).
  explicit TilePlan(const RelationView& relation);

  std::vector<RowBlock> blocks;  // ascending, and together all rows
  std::vector<SourceTile> tiles;
  std::vector<TileRun> runs;
  std::vector<Interval> unseen_sources;  // those that no run spans
  std::vector<NodeIndex> groups;         // of lists: the first source of each group that a block sees, block by block
  std::vector<TileCell> cells;           // of lists: [rows, groups] of each block, block by block
  std::int64_t num_kept_weights = 0;     // of a head, rows filled up to multiples of kGroupSources
  double fill = 1.0;                     // the share of the scores computed that are edges, about
};

/// The plan of lists in which tiles are dense enough to be faster than edge by edge, else nothing. O(edges) time, and
/// little memory where it says nothing.
std::optional<TilePlan> dense_tile_plan(const RelationView& relation);

}  // namespace edgewise::kernels
