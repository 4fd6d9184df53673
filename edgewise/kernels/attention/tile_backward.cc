// SPDX-License-Identifier: Apache-2.0
// D = destinations, S = sources, H = heads, K = head size, V = value size; a tile is R rows by C columns.
#include <algorithm>

#include "edgewise/kernels/attention/tile_attention.h"
#include "edgewise/kernels/attention/tile_work.h"
#include "edgewise/kernels/attention/work.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/tile_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/attention/tile_gradients-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

// Room for gradients of one head.
float* zeros(float* room, std::int64_t rows, std::int64_t size) {
  std::fill_n(room, rows * padded(size), 0.0f);
  return room;
}

// All gradients of a run: each weight is computed once.
template <typename T>
void differentiate_run(const AttentionBackward<T>& p, const TilePlan& plan, const TileRun& run, HeadRange heads) {
  const AttentionForward<T>& f = p.forward;
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  TileBackward<T> backward(p, plan, run, scratch);
  const std::int64_t num_sources = run.sources.end - run.sources.begin;
  float* grad_query = take_matrix(scratch, kTileRows, f.head_size);
  float* grad_key = take_matrix(scratch, num_sources, f.head_size);
  float* grad_value = take_matrix(scratch, num_sources, f.value_size);

  auto sum_tile = [&](const Tile& tile) {
    backward.sum_for_queries(tile, grad_query);
    backward.sum_for_sources(tile, run.sources.begin, grad_key, grad_value);
  };
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    backward.begin_head(head);
    if (backward.differentiate_only_tile()) continue;
    zeros(grad_key, num_sources, f.head_size);
    zeros(grad_value, num_sources, f.value_size);
    for (std::int64_t i = run.block_begin; i < run.block_end; ++i) {
      const RowBlock& block = plan.blocks[i];
      zeros(grad_query, block.row_end - block.row_begin, f.head_size);
      backward.differentiate_block(block, sum_tile);
      backward.store_queries(block, grad_query);
    }
    backward.store_sources(run.sources, grad_key, grad_value);
  }
}

// The gradients of a block's queries.
template <typename T>
void differentiate_rows(const AttentionBackward<T>& p, const TilePlan& plan, const TileRun& run, const RowBlock& block,
                        HeadRange heads) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  TileBackward<T> backward(p, plan, run, scratch);
  float* grad_query = take_matrix(scratch, kTileRows, p.forward.head_size);
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    backward.begin_head(head);
    zeros(grad_query, kTileRows, p.forward.head_size);
    backward.differentiate_block(block, [&](const Tile& tile) { backward.sum_for_queries(tile, grad_query); });
    backward.store_queries(block, grad_query);
  }
}

// The gradients of the keys and values of a tile of sources.
template <typename T>
void differentiate_sources(const AttentionBackward<T>& p, const TilePlan& plan, const TileRun& run,
                           const SourceTile& sources, HeadRange heads) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  AttentionBackward<T> without_bias = p;  // whose gradients belong to rows
  without_bias.grad_edge_bias = nullptr;
  TileBackward<T> backward(without_bias, plan, run, scratch);
  float* grad_key = take_matrix(scratch, kTileSources, p.forward.head_size);
  float* grad_value = take_matrix(scratch, kTileSources, p.forward.value_size);
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    backward.begin_head(head);
    zeros(grad_key, kTileSources, p.forward.head_size);
    zeros(grad_value, kTileSources, p.forward.value_size);
    for (std::int64_t i = sources.block_begin; i < sources.block_end; ++i) {
      const Tile tile(p.forward.relation, plan, plan.blocks[i], sources.sources);
      if (tile.is_empty()) continue;
      backward.load_rows(plan.blocks[i]);
      backward.load_sources(tile);
      backward.differentiate(tile);
      backward.sum_for_sources(tile, sources.sources.begin, grad_key, grad_value);
    }
    backward.store_sources(sources.sources, grad_key, grad_value);
  }
}

template <typename T>
void differentiate_part(const AttentionBackward<T>& p, const TilePlan& plan, const BackwardPart& part,
                        HeadRange heads) {
  const TileRun& run = plan.runs[part.run];
  switch (part.kind) {
    case BackwardPart::Kind::kRun:
      return differentiate_run(p, plan, run, heads);
    case BackwardPart::Kind::kRows:
      return differentiate_rows(p, plan, run, plan.blocks[part.index], heads);
    case BackwardPart::Kind::kSources:
      return differentiate_sources(p, plan, run, plan.tiles[part.index], heads);
  }
}

void differentiate_float(const AttentionBackward<float>& p, const TilePlan& plan, const BackwardPart& part,
                         HeadRange heads) {
  differentiate_part(p, plan, part, heads);
}
void differentiate_bfloat16(const AttentionBackward<BFloat16>& p, const TilePlan& plan, const BackwardPart& part,
                            HeadRange heads) {
  differentiate_part(p, plan, part, heads);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(differentiate_float);
HWY_EXPORT(differentiate_bfloat16);

namespace {

void differentiate(const AttentionBackward<float>& p, const TilePlan& plan, const BackwardPart& part, HeadRange heads) {
  HWY_DYNAMIC_DISPATCH(differentiate_float)(p, plan, part, heads);
}
void differentiate(const AttentionBackward<BFloat16>& p, const TilePlan& plan, const BackwardPart& part,
                   HeadRange heads) {
  HWY_DYNAMIC_DISPATCH(differentiate_bfloat16)(p, plan, part, heads);
}

}  // namespace

namespace cpu {

template <typename T>
void tile_attention_backward(const AttentionBackward<T>& p, const TilePlan& plan) {
  const AttentionForward<T>& f = p.forward;
  for (const Interval& unseen : plan.unseen_sources) {
    clear_heads(p.grad_key, unseen.begin, unseen.end, f.heads(), f.num_heads, f.head_size);
    clear_heads(p.grad_value, unseen.begin, unseen.end, f.heads(), f.num_heads, f.value_size);
  }
  const std::vector<BackwardPart> parts = backward_parts(plan, f.heads().size(), num_threads());
  parallel_head_ranges(
      std::ssize(parts) - 1, f.heads(), [&](std::int64_t part) { return parts[part].cost_before; },
      [&](std::int64_t part, HeadRange heads) { differentiate(p, plan, parts[part], heads); });
}

template void tile_attention_backward(const AttentionBackward<float>&, const TilePlan&);
template void tile_attention_backward(const AttentionBackward<BFloat16>&, const TilePlan&);

}  // namespace cpu
}  // namespace edgewise::kernels
#endif  // HWY_ONCE
