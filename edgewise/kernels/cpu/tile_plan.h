// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/graph/relation_view.h"

// How the tile kernels cut a relation of intervals. A run is a set of rows that share no source with the others, such
// as a sentence of a batch. How a run is cut depends on the run alone, so its results do not depend on the batch.
namespace edgewise::kernels {

/// Rows of one block, and columns of one tile, at most: a tile of scores and what it is made from stay in cache.
inline constexpr std::int64_t kTileRows = 64;
inline constexpr std::int64_t kTileSources = 128;

/// Consecutive rows of a run, and the smallest interval that holds all their sources.
struct RowBlock {
  std::int64_t row_begin;
  std::int64_t row_end;
  Interval sources;
  std::int64_t cost;  // a head, in about the time of an edge
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

struct TilePlan {
  /// Of a relation in the interval form. O(rows) time and memory. Throws Error for the form of lists.
  explicit TilePlan(const RelationView& relation);

  std::vector<RowBlock> blocks;  // ascending, and together all rows
  std::vector<SourceTile> tiles;
  std::vector<TileRun> runs;
  std::vector<Interval> unseen_sources;  // those that no run spans
};

}  // namespace edgewise::kernels
