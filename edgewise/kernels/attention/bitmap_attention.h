// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/bitmap_tiles.h"

// Attention on GPUs over relations whose edges are dense in tiles of 64 destinations and 64 sources: patterns of
// blocks, trees, windows with global tokens, random rows with many sources.
namespace edgewise::kernels {

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
