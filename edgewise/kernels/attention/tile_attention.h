// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"

// Attention as products of small dense matrices, for relations whose rows_ascend() is true. T is float or BFloat16;
// sums are computed in float. The instruction set in use (kernels/simd/instruction_set.h) must not be kReference.
// Workspace memory grows only with the number of threads.
//
// The kernels divide a relation into runs, blocks and tiles. A run is consecutive rows that share no source with other
// rows, such as a sentence of a batch. Blocks and tiles depend on the run alone, and thus not on the batch.
namespace edgewise::kernels {

/// The most rows of a block and the most columns of a tile, so that a tile's scores, queries and keys stay in cache.
inline constexpr std::int64_t kTileRows = 64;
inline constexpr std::int64_t kTileSources = 128;

/// The sources of a CSR relation form groups of kGroupSources. The columns of a block's tiles are the sources of those
/// groups from which a row of the block has an edge.
inline constexpr std::int64_t kGroupSources = 16;
inline constexpr std::int64_t kCsrBlockRows = 32;  // the most rows of a block of a CSR relation

/// The most sources of a run whose weights forward saves for backward. To read such weights is at least as fast as to
/// compute them again. At head size 64, they take a quarter of the memory of queries, keys, values and outputs.
inline constexpr std::int64_t kMaxSavedSources = 64;

/// Consecutive rows of a run, and the smallest interval (for CSR: of whole groups) that holds all their sources.
struct RowBlock {
  std::int64_t row_begin;
  std::int64_t row_end;
  Interval sources;
  std::int64_t cost;              // per head; 1 is about the time of one edge
  std::int64_t group_begin = 0;   // index in TilePlan::groups; CSR only
  std::int64_t group_end = 0;     // index in TilePlan::groups; CSR only
  std::int64_t cell_begin = 0;    // index in TilePlan::cells; CSR only
  std::int64_t saved_begin = -1;  // index of the block's first weight among a head's saved weights; -1: none are saved
};

/// The edges of a row from a group of sources: bit i is source i. Earlier groups have `edges_before` edges of the row.
struct TileCell {
  std::uint16_t bits = 0;
  std::int32_t edges_before = 0;
};

/// At most kTileSources sources of a run, and the numbers in TilePlan::block_of of all blocks with an edge from one of
/// them. Intervals may have other blocks in this range, too.
struct SourceTile {
  Interval sources;
  std::int64_t block_begin;
  std::int64_t block_end;
  std::int64_t cost;  // per head, as in RowBlock
};

/// The blocks and tiles of consecutive rows that share no source with other rows.
struct TileRun {
  std::int64_t block_begin = 0;  // index in TilePlan::blocks
  std::int64_t block_end = 0;
  std::int64_t tile_begin = 0;  // index in TilePlan::tiles
  std::int64_t tile_end = 0;
  Interval sources;
  std::int64_t cost = 0;
};

/// Returns whether the sources of each row ascend strictly, which they do in the interval form.
bool rows_ascend(const RelationView& relation);

/// A relation, whose memory must outlive the plan, and its division into runs, blocks and tiles.
struct TilePlan {
  /// Takes O(rows) time for intervals, O(size of all tiles) for CSR. Throws Error unless rows_ascend(relation).
  explicit TilePlan(const RelationView& relation);

  /// Returns the block of a number between SourceTile::block_begin and block_end.
  const RowBlock& block_of(std::int64_t i) const {
    return blocks[static_cast<std::size_t>(relation.intervals != nullptr ? i
                                                                         : tile_blocks[static_cast<std::size_t>(i)])];
  }

  RelationView relation;
  std::vector<RowBlock> blocks;  // in ascending order of rows; each row is in one block
  std::vector<SourceTile> tiles;
  std::vector<TileRun> runs;
  std::vector<Interval> unused_sources;   // sources outside the intervals of all runs
  std::vector<NodeIndex> groups;          // CSR only: the first source of each group of each block, block by block
  std::vector<TileCell> cells;            // CSR only: [rows, groups] of each block, block by block
  std::vector<std::int64_t> tile_blocks;  // CSR only: the blocks of each tile, ascending, tile by tile
  std::int64_t num_saved_weights = 0;     // per head, with rows padded to multiples of kGroupSources
  double fill = 1.0;                      // the share of computed scores that are edges, approximately
};

/// Returns the plan of a CSR relation in O(edges) time, or nothing if rows would be faster than its sparse tiles.
std::optional<TilePlan> make_dense_tile_plan(const RelationView& relation);

/// A part of the backward pass that one thread computes, for one head.
struct BackwardPart {
  enum class Kind {
    kRun,      // all gradients of a run; computes each weight once
    kRows,     // the gradients of a block's queries and edge biases
    kSources,  // the gradients of a source tile's keys and values
  };
  Kind kind;
  std::int64_t run;
  std::int64_t index;        // the block in TilePlan::blocks, or the source tile in TilePlan::tiles
  std::int64_t cost_before;  // the cost of all parts before this one
};

/// Splits the backward pass into parts, so that all threads get about equal cost. A run is one part of 5 matrix
/// products if its cost is a small share of a thread's. Otherwise, the run is many small parts for its rows (3
/// products) and its sources (4 products), which compute each weight twice. Both ways give the same bits. Appends an
/// empty part whose cost_before is the total cost.
std::vector<BackwardPart> split_backward(const TilePlan& plan, std::int64_t num_heads, int num_threads);

/// The gradients of a score function that the parts of a backward pass share.
struct TileScoreGradients {
  SharedGradients<float>* shared;
  std::vector<std::int64_t> piece_of_block;  // by index in TilePlan::blocks: the piece of SharedGradients
  std::int64_t first_head;                   // head 0 of `shared`
};

/// Returns the piece of each block: at most about `max_pieces` pieces of about equal cost. The runs of a piece are
/// whole, or all its blocks are in one run.
std::vector<std::int64_t> cut_pieces(const TilePlan& plan, std::int64_t max_pieces);

using AnyAttentionForward = std::variant<const AttentionForward<float>*, const AttentionForward<BFloat16>*>;
using AnyAttentionBackward = std::variant<const AttentionBackward<float>*, const AttentionBackward<BFloat16>*>;

namespace cpu {

// Both functions return whether all their results are finite. If they are not, an infinity or NaN of a node may have
// reached nodes without an edge to it, because the products of matrices multiply it by the weight 0 of an absent edge.
// The caller then computes all results again by other kernels.

template <typename T>
bool tile_attention_forward(const AttentionForward<T>& p, const TilePlan& plan);

/// Overwrites all gradients. Gives the same bits for any number of threads.
template <typename T>
bool tile_attention_backward(const AttentionBackward<T>& p, const TilePlan& plan);

}  // namespace cpu
}  // namespace edgewise::kernels
