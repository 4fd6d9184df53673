// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/device/stream.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"

// Attention on GPUs over relations whose edges are dense in tiles of 64 destinations and 64 sources: patterns of
// blocks, trees, windows with global tokens, random rows with many sources.
//
// A block is kNodesOfBitmapBlock consecutive nodes: destinations, or sources. Its others are the nodes of the other
// side with an edge to one of them, in ascending order. So a tile has columns that are far apart in the relation, and
// no column without an edge, which a strided or a random pattern would have otherwise. To copy a head of such a node
// takes as many transactions as of any other node.
namespace edgewise::kernels {

inline constexpr int kNodesOfBitmapBlock = 64;

/// The number of a node after the last one in BitmapTiles::others.
inline constexpr NodeIndex kNoOther = -1;

/// The edges between a row and 64 sources: bit i is the i-th of them. The edges' numbers are consecutive.
struct alignas(16) BitmapRow {
  EdgeIndex first_edge = 0;
  std::uint64_t sources = 0;
};

struct BitmapBlock {
  std::int64_t begin;  // index in BitmapTiles::others and BitmapTiles::rows
  NodeIndex first_node;
  NodeIndex num_others;
};

/// All blocks of one side of a relation, those with the most others first, so that none of them begins last.
/// Blocks of destinations: others are sources, and each 64 of them are a tile: its 64 elements of `rows` are the rows
/// of the block. Blocks of sources: others are rows, and each has its own element of `rows`, whose bits are the sources
/// of the block.
struct BitmapTiles {
  std::vector<BitmapBlock> blocks;
  std::vector<NodeIndex> others;  // block by block, each with kNoOther up to a multiple of 64
  std::vector<BitmapRow> rows;    // as many as others

  /// Returns the number of tiles of 64 x 64.
  std::int64_t num_tiles() const { return static_cast<std::int64_t>(rows.size()) / kNodesOfBitmapBlock; }
};

/// Divides a relation into blocks of destinations in O(edges * log(edges)) time. Throws Error unless
/// rows_ascend(relation) (tile_attention.h).
BitmapTiles tile_by_destination(const RelationView& relation);

/// Divides a relation into blocks of sources in O(sources + edges) time. Throws Error unless rows_ascend(relation).
BitmapTiles tile_by_source(const RelationView& relation);

/// Returns whether bitmap_attention_forward() and bitmap_attention_backward() suit a relation better than
/// sparse_attention_forward() and sparse_attention_backward() do, for T = float or BFloat16 and
/// num_tiles = tile_by_destination().num_tiles(). An estimate for an H100 and a head size of 64: edge by edge, an edge
/// loads a key and a value from the L2 cache, 256 bytes in bf16, at 5.5 TB/s in 0.05 ns. A tile of bf16 loads 16 KB in
/// 3 ns, and its 4096 scores and weights take about as long, on tensor cores and for the powers of 2: 6 ns together. In
/// fp32, an edge takes 0.09 ns, and a tile multiplies 1 MFLOP at a rate of 40 TFLOP/s, without tensor cores, and loads
/// 32 KB: 32 ns. All times grow alike with the head size.
template <typename T>
constexpr bool has_dense_tiles(std::int64_t num_edges, std::int64_t num_tiles) {
  constexpr std::int64_t kEdgesOfDenseTile = sizeof(T) == 4 ? 384 : 128;
  return num_edges >= num_tiles * kEdgesOfDenseTile;
}

/// Returns whether the functions below have kernels for heads of these sizes, for T = float or BFloat16: 32, 64, 96 and
/// 128, unless a block of the thread's current GPU has too little shared memory. fp32 with 128 needs 110 KiB.
template <typename T>
bool can_attend_bitmaps(std::int64_t head_size, std::int64_t value_size);

/// The members of BitmapTiles, in memory of the device, at multiples of 16 bytes.
struct BitmapTilesView {
  const BitmapBlock* blocks = nullptr;
  const NodeIndex* others = nullptr;
  const BitmapRow* rows = nullptr;
};

/// A relation in memory of the device.
struct BitmapRelationView {
  std::int64_t num_sources;
  std::int64_t num_destinations;
  BitmapTilesView by_destination;  // tile_by_destination()
  BitmapTilesView by_source;       // tile_by_source(); only backward reads it
};

/// Computes what reference::attention_forward() computes, for T = float or BFloat16, and begins in `stream`. All
/// pointers of `p` are to memory of the device, and query, key, value and out to multiples of 16 bytes. p.saved_weights
/// is null, and p.head_size and p.value_size satisfy can_attend_bitmaps(). Weights of bf16 are rounded to bf16 before
/// they multiply values. Each result has the same bits in every run. A block multiplies its 64 rows with all sources of
/// these rows, except that 16 rows skip tiles without an edge of theirs. A value that is not finite may also change the
/// rows of such a block that do not attend to it.
template <typename T>
void bitmap_attention_forward(const AttentionForward<T>& p, const BitmapRelationView& relation, device::Stream stream);

/// Returns the bytes of memory that bitmap_attention_backward() needs for `num_heads` heads beside its arguments.
constexpr std::int64_t bitmap_backward_workspace(std::int64_t num_destinations, std::int64_t num_heads) {
  return num_destinations * num_heads * 8;
}

/// Computes what reference::attention_backward() computes, from `out` and log_normalizer of bitmap_attention_forward(),
/// under the same conditions. All tensors but edge_bias, grad_edge_bias and log_normalizer are aligned to 16 bytes.
/// `workspace` is memory of the device of at least bitmap_backward_workspace() bytes, aligned to 8, which no other
/// stream uses meanwhile. The gradients of scores of bf16 are rounded to bf16 before they multiply queries and keys.
template <typename T>
void bitmap_attention_backward(const AttentionBackward<T>& p, const BitmapRelationView& relation, void* workspace,
                               device::Stream stream);

}  // namespace edgewise::kernels
