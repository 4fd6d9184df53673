// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/attention/tile_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/tile_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/attention/tile_gradients-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

void clear_matrix(float* matrix, std::int64_t rows, std::int64_t size) {
  std::fill_n(matrix, rows * padded_size(size), 0.0f);
}

// The functions below return whether the gradients that they compute are finite.

/// Computes all gradients of a run, and each weight once.
template <typename T>
bool differentiate_run(const AttentionBackward<T>& p, const TilePlan& plan, const TileRun& run, HeadRange heads,
                       const TileScoreGradients* score_gradients) {
  const AttentionForward<T>& f = p.forward;
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  TileBackward<T> backward(p, plan, run, score_gradients, scratch);
  const std::int64_t num_sources = run.sources.end - run.sources.begin;
  float* grad_query = take_matrix(scratch, kTileRows, f.head_size);
  float* grad_key = take_matrix(scratch, num_sources, f.head_size);
  float* grad_value = take_matrix(scratch, num_sources, f.value_size);

  auto sum_tile = [&](const RelationTile& tile) {
    backward.sum_for_queries(tile, grad_query);
    backward.sum_for_sources(tile, run.sources.begin, grad_key, grad_value);
  };
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    backward.begin_head(head);
    if (backward.differentiate_only_tile()) continue;
    if (backward.begins_group()) {
      clear_matrix(grad_key, num_sources, f.head_size);
      clear_matrix(grad_value, num_sources, f.value_size);
    }
    for (std::int64_t i = run.block_begin; i < run.block_end; ++i) {
      const RowBlock& block = plan.blocks[i];
      clear_matrix(grad_query, block.row_end - block.row_begin, f.head_size);
      backward.differentiate_block(block, sum_tile);
      backward.store_queries(block, grad_query);
    }
    if (backward.ends_group()) backward.store_sources(run.sources, grad_key, grad_value);
  }
  return backward.is_finite();
}

/// Computes the gradients of a block's queries and edge biases.
template <typename T>
bool differentiate_rows(const AttentionBackward<T>& p, const TilePlan& plan, const TileRun& run, const RowBlock& block,
                        HeadRange heads, const TileScoreGradients* score_gradients) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  TileBackward<T> backward(p, plan, run, score_gradients, scratch);
  backward.select_score_gradients(/*of_rows=*/true, /*of_sources=*/false);
  float* grad_query = take_matrix(scratch, kTileRows, p.forward.head_size);
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    backward.begin_head(head);
    clear_matrix(grad_query, kTileRows, p.forward.head_size);
    backward.differentiate_block(block, [&](const RelationTile& tile) { backward.sum_for_queries(tile, grad_query); });
    backward.store_queries(block, grad_query);
  }
  return backward.is_finite();
}

/// Computes the gradients of the keys and values of a source tile.
template <typename T>
bool differentiate_sources(const AttentionBackward<T>& p, const TilePlan& plan, const TileRun& run,
                           const SourceTile& sources, HeadRange heads, const TileScoreGradients* score_gradients) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  AttentionBackward<T> without_bias = p;  // differentiate_rows() writes the gradients of edge biases
  without_bias.grad_edge_bias = nullptr;
  TileBackward<T> backward(without_bias, plan, run, score_gradients, scratch);
  backward.select_score_gradients(/*of_rows=*/false, /*of_sources=*/true);
  float* grad_key = take_matrix(scratch, kTileSources, p.forward.head_size);
  float* grad_value = take_matrix(scratch, kTileSources, p.forward.value_size);
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    backward.begin_head(head);
    if (backward.begins_group()) {
      clear_matrix(grad_key, kTileSources, p.forward.head_size);
      clear_matrix(grad_value, kTileSources, p.forward.value_size);
    }
    for (std::int64_t i = sources.block_begin; i < sources.block_end; ++i) {
      const RowBlock& block = plan.block_of(i);
      const RelationTile tile(plan, block, sources.sources);
      if (tile.is_empty()) continue;
      backward.load_rows(block);
      backward.load_sources(tile);
      backward.differentiate(tile);
      backward.sum_for_sources(tile, sources.sources.begin, grad_key, grad_value);
    }
    if (backward.ends_group()) backward.store_sources(sources.sources, grad_key, grad_value);
  }
  return backward.is_finite();
}

bool differentiate_part(const AnyAttentionBackward& any, const TilePlan& plan, const BackwardPart& part,
                        HeadRange heads, const TileScoreGradients* score_gradients) {
  const TileRun& run = plan.runs[part.run];
  return std::visit(
      [&](const auto* p) HWY_ATTR {
        switch (part.kind) {
          case BackwardPart::Kind::kRun:
            return differentiate_run(*p, plan, run, heads, score_gradients);
          case BackwardPart::Kind::kRows:
            return differentiate_rows(*p, plan, run, plan.blocks[part.index], heads, score_gradients);
          case BackwardPart::Kind::kSources:
            break;
        }
        return differentiate_sources(*p, plan, run, plan.tiles[part.index], heads, score_gradients);
      },
      any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::cpu {

HWY_EXPORT(differentiate_part);

namespace {

/// Returns the first part of each group of parts that one thread computes, and then the number of parts: a part of its
/// own, or the parts that add to the sums of one piece.
std::vector<std::int64_t> group_parts(const TilePlan& plan, const std::vector<BackwardPart>& parts,
                                      const std::vector<std::int64_t>& piece_of_block) {
  constexpr std::int64_t kNoPiece = -1;
  std::vector<std::int64_t> group_begin;
  std::int64_t last_piece = kNoPiece;
  const std::int64_t num_parts = std::ssize(parts) - 1;
  for (std::int64_t i = 0; i < num_parts; ++i) {
    const BackwardPart& part = parts[i];
    std::int64_t piece = kNoPiece;
    if (part.kind != BackwardPart::Kind::kSources && !piece_of_block.empty()) {
      piece = piece_of_block[part.kind == BackwardPart::Kind::kRows ? part.index : plan.runs[part.run].block_begin];
    }
    if (piece == kNoPiece || piece != last_piece) group_begin.push_back(i);
    last_piece = piece;
  }
  group_begin.push_back(num_parts);
  return group_begin;
}

}  // namespace

template <typename T>
bool tile_attention_backward(const AttentionBackward<T>& p, const TilePlan& plan) {
  std::atomic<bool> is_finite = true;
  const AttentionForward<T>& f = p.forward;
  for (const Interval& unused : plan.unused_sources) {
    clear_heads(p.grad_key, unused.begin, unused.end, f.key_range(), f.key_heads(), f.head_size);
    clear_heads(p.grad_value, unused.begin, unused.end, f.key_range(), f.key_heads(), f.value_size);
  }
  SharedGradients<float> shared(f.score, plan.relation.num_edges(), f.heads().size());
  TileScoreGradients score_gradients = {&shared, std::vector<std::int64_t>(), f.heads().begin};
  if (f.score != nullptr) {
    f.score->clear_gradients(f.heads().begin, f.heads().end);
    score_gradients.piece_of_block = cut_pieces(plan, shared.max_pieces());
    if (!shared.is_empty() && !plan.blocks.empty()) shared.allocate(score_gradients.piece_of_block.back() + 1);
  }
  const std::vector<BackwardPart> parts = split_backward(plan, f.heads().size(), num_threads());
  const std::vector<std::int64_t> group_begin =
      group_parts(plan, parts, shared.is_empty() ? std::vector<std::int64_t>() : score_gradients.piece_of_block);
  const auto cost_before_group = [&](std::int64_t group) { return parts[group_begin[group]].cost_before; };
  const auto differentiate_group = [&](std::int64_t group, HeadRange heads) {
    for (std::int64_t part = group_begin[group]; part < group_begin[group + 1]; ++part) {
      if (!HWY_DYNAMIC_DISPATCH(differentiate_part)(&p, plan, parts[part], heads, &score_gradients)) is_finite = false;
    }
  };
  const std::int64_t num_groups = std::ssize(group_begin) - 1;
  if (f.score != nullptr && f.score->sums_heads()) {
    parallel_ranges(num_groups, cost_before_group, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) differentiate_group(group, f.heads());
    });
  } else {
    parallel_head_ranges(num_groups, f.key_range(), cost_before_group,
                         [&](std::int64_t group, HeadRange keys) { differentiate_group(group, f.heads_of(keys)); });
  }
  for (std::int64_t head = f.heads().begin; head < f.heads().end; ++head) shared.finish(head - f.heads().begin, head);
  return is_finite;
}

template bool tile_attention_backward(const AttentionBackward<float>&, const TilePlan&);
template bool tile_attention_backward(const AttentionBackward<BFloat16>&, const TilePlan&);

}  // namespace edgewise::kernels::cpu
#endif  // HWY_ONCE
