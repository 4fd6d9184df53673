// SPDX-License-Identifier: Apache-2.0
// The stages that forward and backward by tiles share: products, scores, dropout. Compiled once for each instruction
// set. A tile's matrices are [rows, stride], with a column for each source and padding up to whole vectors.
#if defined(EDGEWISE_KERNELS_ATTENTION_TILE_STAGES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_ATTENTION_TILE_STAGES_INL_H
#undef EDGEWISE_KERNELS_ATTENTION_TILE_STAGES_INL_H
#else
#define EDGEWISE_KERNELS_ATTENTION_TILE_STAGES_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/relation_tile.h"
#include "edgewise/kernels/attention/small_gemm-inl.h"
#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/simd/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

inline constexpr float kNoScore = -std::numeric_limits<float>::infinity();

/// Returns a buffer for `rows` rows of `size` floats each, padded to whole vectors.
inline float* take_matrix(Scratch& scratch, std::int64_t rows, std::int64_t size) {
  return scratch.take(static_cast<std::size_t>(rows * padded_size(size)));
}

/// Returns one head of `count` rows of a tensor [nodes, heads, size], from row `first` on.
template <typename T>
StridedRows<T> rows_of_head(T* tensor, std::int64_t first, std::int64_t count, std::int64_t head,
                            std::int64_t num_heads, std::int64_t size) {
  return {tensor + (first * num_heads + head) * size, count, size, num_heads * size};
}

/// Prefetches rows for reading if T is const, else for writing. Hardware does not prefetch rows that are far apart.
template <typename T>
void prefetch(const StridedRows<T>& rows) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    for (std::int64_t i = 0; i < rows.size; i += kLine) __builtin_prefetch(rows.row(row) + i, !std::is_const_v<T>, 2);
  }
}

/// Returns one head of the rows of a tile's sources in a tensor [sources, heads, size]: a view if possible, else a copy
/// in `buffer` [columns of the tile, padded_size(size)].
template <typename T>
PaddedMatrix load_sources_of_head(const RelationTile& tile, const T* tensor, std::int64_t head, std::int64_t num_heads,
                                  std::int64_t size, float* buffer) {
  PaddedMatrix result = {buffer, padded_size(size)};
  tile.for_spans([&](const SourceSpan& span) {
    const StridedRows<const T> rows = rows_of_head(tensor, span.source, span.count, head, num_heads, size);
    if (tile.has_one_span()) {
      result = view_or_pack(rows, buffer);
    } else {
      pack(rows, 1.0f, buffer + span.column * padded_size(size));
    }
  });
  return result;
}

/// Extends a range of columns to whole vectors.
inline IndexRange round_out(IndexRange columns) { return {columns.begin / kLanes * kLanes, padded_size(columns.end)}; }

/// Computes c = a b, where a is [rows, depth], at least for the elements of c that are edges of the tile.
inline void multiply_at_edges(const RelationTile& tile, const LeftOperand& a, const ColumnPanels& b,
                              const OutputMatrix& c) {
  for (std::int64_t panel = 0; panel < b.columns; panel += ColumnPanels::kColumns) {
    const std::int64_t panel_end = panel + b.width(panel);
    for_even_parts(
        tile.num_rows(), rows_for(static_cast<int>(b.width(panel) / kLanes)), [&](std::int64_t row, int count) {
          const IndexRange columns = round_out(tile.columns_of_rows(row, count));
          const std::int64_t begin = std::max(columns.begin, panel);
          const std::int64_t end = std::min(columns.end, panel_end);
          if (begin >= end) return;
          multiply_block(count, static_cast<int>((end - begin) / kLanes),
                         {a.data + row * a.row_stride, a.row_stride, a.column_stride}, b.columns_from(panel, begin),
                         {c.data + row * c.row_stride + begin, c.row_stride}, b.terms, WriteMode::kOverwrite);
        });
  }
}

/// Computes c = weight b, or c += weight b: weight is [rows, columns], b is [columns, size], c is [rows, size].
inline void sum_over_sources(const RelationTile& tile, const float* weight, std::int64_t stride, const PaddedMatrix& b,
                             std::int64_t size, const OutputMatrix& c, WriteMode mode) {
  multiply(tile.num_rows(), size, {weight, stride, 1}, {b.data, b.stride}, c, mode,
           [&](std::int64_t row, int count) { return tile.columns_of_rows(row, count); });
}

/// Computes c = weight^T b, or c += weight^T b: weight is [rows, columns], b is [rows, size]. The first row of c
/// belongs to source first_source.
inline void sum_over_rows(const RelationTile& tile, const float* weight, std::int64_t stride, const PaddedMatrix& b,
                          std::int64_t size, const OutputMatrix& c, std::int64_t first_source, WriteMode mode) {
  tile.for_spans([&](const SourceSpan& span) {
    multiply(span.count, size, {weight + span.column, 1, stride}, {b.data, b.stride},
             {c.data + (span.source - first_source) * c.row_stride, c.row_stride}, mode,
             [&](std::int64_t source, int count) { return tile.rows_of_columns(span.column + source, count); });
  });
}

/// Calls fn(column) with the first column of each vector that holds one of `columns`.
template <class Fn>
HWY_INLINE void for_vectors(IndexRange columns, Fn fn) {
  for (std::int64_t column = columns.begin / kLanes * kLanes; column < columns.end; column += kLanes) fn(column);
}

inline void multiply_by(float factor, IndexRange columns, float* row) {
  const FloatTag d;
  const auto factors = hn::Set(d, factor);
  for_vectors(columns, [&](std::int64_t column)
                           HWY_ATTR { hn::Store(hn::Mul(factors, hn::Load(d, row + column)), d, row + column); });
}

/// Sets the vectors of a row that hold none of `columns` to zero.
inline void clear_outside(IndexRange columns, std::int64_t stride, float* row) {
  const IndexRange whole = round_out(columns);
  const auto zero = hn::Zero(FloatTag());
  for (std::int64_t column = 0; column < whole.begin; column += kLanes) hn::Store(zero, FloatTag(), row + column);
  for (std::int64_t column = whole.end; column < stride; column += kLanes) hn::Store(zero, FloatTag(), row + column);
}

/// Calls fn(first column, mask of lanes that are edges) for each vector of the row's columns. The row must have edges.
template <class Fn>
HWY_INLINE void for_edge_vectors(const RelationTile& tile, std::int64_t row, Fn fn) {
  const FloatTag d;
  const IndexRange columns = tile.columns(row);
  if (!tile.has_contiguous_rows()) {
    for_vectors(columns, [&](std::int64_t column) HWY_ATTR {
      const unsigned bits = tile.bits(row, column / kGroupSources) >> (column % kGroupSources);
      const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)};
      fn(column, hn::LoadMaskBits(d, bytes));
    });
    return;
  }
  const IndexRange whole = round_out(columns);
  const std::int64_t last = whole.end - kLanes;
  auto is_edge = hn::Not(hn::FirstN(d, static_cast<std::size_t>(columns.begin - whole.begin)));
  for (std::int64_t column = whole.begin; column < last; column += kLanes) {
    fn(column, is_edge);
    is_edge = hn::FirstN(d, static_cast<std::size_t>(kLanes));
  }
  fn(last, hn::And(is_edge, hn::FirstN(d, static_cast<std::size_t>(columns.end - last))));
}

/// Returns the memory for saved weights of a block, [rows, padded_size(sources)], or null if the block has none.
template <typename T>
float* saved_memory_of(const AttentionForward<T>& p, const TilePlan& plan, const RowBlock& block, std::int64_t head) {
  if (p.saved_weights == nullptr || block.saved_begin < 0) return nullptr;
  return p.saved_weights + (head - p.heads().begin) * plan.num_saved_weights + block.saved_begin;
}

/// Returns the saved weights of a block, or null if the block has none. With a clamp, no weights are saved: backward
/// needs all scores again, to find the scores that exceed the clamp.
template <typename T>
float* saved_weights_of(const AttentionForward<T>& p, const TilePlan& plan, const RowBlock& block, std::int64_t head) {
  if (p.clamp < std::numeric_limits<float>::infinity()) return nullptr;
  if (p.score != nullptr && p.score->program->backward_reads_product) return nullptr;
  return saved_memory_of(p, plan, block, head);
}

/// Returns the saved products <query, key> of a block, in place of its weights, or null if the block has none. A score
/// function whose backward pass reads the products needs them.
template <typename T>
float* saved_products_of(const AttentionForward<T>& p, const TilePlan& plan, const RowBlock& block, std::int64_t head) {
  if (p.score == nullptr || !p.score->program->backward_reads_product) return nullptr;
  return saved_memory_of(p, plan, block, head);
}

/// Turns products <query, key> into scores, row by row. With a score function, the products are scores already.
class ScaleAndClamp {
 public:
  template <typename T>
  explicit ScaleAndClamp(const AttentionForward<T>& p)
      : scale_(p.score == nullptr ? p.scale : 1.0f),
        clamp_(p.clamp),
        edge_bias_(p.edge_bias),
        num_heads_(p.num_heads) {}

  bool has_clamp() const { return clamp_ < std::numeric_limits<float>::infinity(); }

  /// Replaces each vector of products in `score` that holds one of the row's columns by fn(first column, vector of
  /// scores). Lanes that are not edges have the score kNoScore. If there is a clamp and clamp_slope is not null, sets
  /// clamp_slope to the derivative of the clamped score: 1, or 0 where the clamp bounds the score.
  template <class Fn>
  HWY_INLINE void apply(const RelationTile& tile, std::int64_t head, std::int64_t row, float* score, float* clamp_slope,
                        Fn fn) const {
    const FloatTag d;
    const bool only_scales = !has_clamp() && edge_bias_ == nullptr;
    if (!only_scales) clamp_and_add_bias(tile, head, row, score, clamp_slope);
    const auto factor = hn::Set(d, only_scales ? scale_ : 1.0f);
    for_edge_vectors(tile, row, [&](std::int64_t column, auto is_edge) HWY_ATTR {
      const auto scaled = hn::Mul(factor, hn::Load(d, score + column));
      hn::Store(fn(column, hn::IfThenElse(is_edge, scaled, hn::Set(d, kNoScore))), d, score + column);
    });
  }

 private:
  void clamp_and_add_bias(const RelationTile& tile, std::int64_t head, std::int64_t row, float* score,
                          float* clamp_slope) const {
    const IndexRange columns = tile.columns(row);
    multiply_by(scale_, columns, score);
    if (has_clamp()) clamp(columns, score, clamp_slope);
    if (edge_bias_ == nullptr) return;
    const float* bias = edge_bias_ + tile.first_edge(row) * num_heads_ + head;
    tile.for_edges(row, [&](std::int64_t i, std::int64_t column) { score[column] += bias[i * num_heads_]; });
  }

  void clamp(IndexRange columns, float* score, float* clamp_slope) const {
    const FloatTag d;
    const auto largest = hn::Set(d, clamp_);
    const auto smallest = hn::Neg(largest);
    for_vectors(columns, [&](std::int64_t column) HWY_ATTR {
      const auto x = hn::Load(d, score + column);
      const auto is_above = hn::Gt(x, largest);
      const auto is_below = hn::Lt(x, smallest);
      hn::Store(hn::IfThenElse(is_above, largest, hn::IfThenElse(is_below, smallest, x)), d, score + column);
      if (clamp_slope == nullptr) return;
      hn::Store(hn::IfThenZeroElse(hn::Or(is_above, is_below), hn::Set(d, 1.0f)), d, clamp_slope + column);
    });
  }

  float scale_;
  float clamp_;
  const float* edge_bias_;
  std::int64_t num_heads_;
};

/// The dropout factors of a tile's edges.
class TileDropout {
 public:
  template <typename T>
  TileDropout(const AttentionForward<T>& p, Scratch& scratch)
      : factors_(p.dropout), num_heads_(p.num_heads), is_active_(p.dropout.rate != 0.0) {
    if (is_active_) buffer_ = scratch.take(kTileRows * kRowBuffer);
  }

  bool is_active() const { return is_active_; }

  void draw(const RelationTile& tile, std::int64_t head) {
    if (!is_active_) return;
    head_ = head;
    if (tile.has_whole_rows()) {
      const std::int64_t last = tile.num_rows() - 1;
      const EdgeIndex first_edge = tile.first_edge(0);
      const EdgeIndex end_edge = tile.first_edge(last) + tile.columns(last).size();
      const float* factor = draw_edges(first_edge, end_edge, buffer_);
      for (std::int64_t row = 0; row <= last; ++row) {
        row_factors_[row] = factor + (tile.first_edge(row) - first_edge) - tile.columns(row).begin;
      }
      return;
    }
    for (std::int64_t row = 0; row < tile.num_rows(); ++row) {
      float* buffer = buffer_ + row * kRowBuffer;
      row_factors_[row] = tile.has_contiguous_rows() ? draw_interval(tile, row, buffer) : draw_csr(tile, row, buffer);
    }
  }

  /// Returns the factors of a row by column, for the vectors that hold the row's columns; finite where no edge is.
  const float* factors(std::int64_t row) const { return row_factors_[row]; }

 private:
  // The floats of a row: a vector of zeros, up to 3 other factors of the first edge's Philox block, the factors of the
  // edges, and a vector of zeros or the slack of DropoutFactors.
  static constexpr std::int64_t kRowBuffer =
      padded_size(kLanes + 3 + kTileSources + std::max<std::int64_t>(kLanes, kDropoutFactorsSlack));

  const float* draw_interval(const RelationTile& tile, std::int64_t row, float* buffer) const {
    const IndexRange columns = tile.columns(row);
    return draw_edges(tile.first_edge(row), tile.first_edge(row) + columns.size(), buffer) - columns.begin;
  }

  const float* draw_csr(const RelationTile& tile, std::int64_t row, float* buffer) const {
    std::int64_t num_edges = 0;
    tile.for_edges(row, [&](std::int64_t, std::int64_t) { ++num_edges; });
    HWY_ALIGN float edge_factors[kRowBuffer];
    const float* factor = draw_edges(tile.first_edge(row), tile.first_edge(row) + num_edges, edge_factors);
    std::fill_n(buffer, padded_size(tile.num_columns()), 0.0f);
    tile.for_edges(row, [&](std::int64_t i, std::int64_t column) { buffer[column] = factor[i]; });
    return buffer;
  }

  // Returns the factors of edges `[begin, end)`. Zeros are before and after them, since vectors may load these lanes.
  const float* draw_edges(EdgeIndex begin, EdgeIndex end, float* buffer) const {
    const EdgeIndex first_block = begin / 4;
    float* factor = buffer + kLanes;
    factors_.fill_blocks(static_cast<std::uint64_t>(first_block * num_heads_ + head_),
                         static_cast<std::uint64_t>(num_heads_), (end + 3) / 4 - first_block, factor);
    hn::StoreU(hn::Zero(FloatTag()), FloatTag(), buffer);
    hn::StoreU(hn::Zero(FloatTag()), FloatTag(), factor + (end - 4 * first_block));
    return factor + begin % 4;
  }

  DropoutFactors factors_;
  std::int64_t num_heads_;
  std::int64_t head_ = 0;
  bool is_active_;
  float* buffer_ = nullptr;
  std::array<const float*, kTileRows> row_factors_;
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_ATTENTION_TILE_STAGES_INL_H
