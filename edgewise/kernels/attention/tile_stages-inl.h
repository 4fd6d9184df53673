// SPDX-License-Identifier: Apache-2.0
// What forward and backward on tiles share: products along the ranges that rows see, scores, dropout. Included once for
// each instruction set. Matrices of a tile are [rows, stride] with a column for each source and whole vectors of them.
#if defined(EDGEWISE_KERNELS_CPU_TILE_STAGES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_TILE_STAGES_INL_H
#undef EDGEWISE_KERNELS_CPU_TILE_STAGES_INL_H
#else
#define EDGEWISE_KERNELS_CPU_TILE_STAGES_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/attention/pack-inl.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/kernels/attention/tile.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

inline constexpr float kNoScore = -std::numeric_limits<float>::infinity();

/// Room for `rows` rows of `size` numbers each, filled up to whole vectors.
inline float* take_matrix(Scratch& scratch, std::int64_t rows, std::int64_t size) {
  return scratch.take(static_cast<std::size_t>(rows * padded(size)));
}

/// The rows of one head in a tensor [nodes, heads, size].
template <typename T>
Rows<T> rows_of_head(T* tensor, std::int64_t first, std::int64_t count, std::int64_t head, std::int64_t num_heads,
                     std::int64_t size) {
  return {tensor + (first * num_heads + head) * size, count, size, num_heads * size};
}

/// Asks the caches for rows that will soon be read, or written unless T is const: the pieces of one head lie a row
/// apart, which hardware does not fetch ahead.
template <typename T>
void fetch_ahead(const Rows<T>& rows) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    for (std::int64_t i = 0; i < rows.size; i += kLine) __builtin_prefetch(rows.row(row) + i, !std::is_const_v<T>, 2);
  }
}

/// The rows of a tile's sources in a tensor [sources, heads, size]; `room` is for [columns of the tile, padded(size)].
template <typename T>
Matrix rows_of_sources(const Tile& tile, const T* tensor, std::int64_t head, std::int64_t num_heads, std::int64_t size,
                       float* room) {
  Matrix result = {room, padded(size)};
  tile.for_stretches([&](const Stretch& stretch) {
    const Rows<const T> rows = rows_of_head(tensor, stretch.source, stretch.count, head, num_heads, size);
    if (tile.is_one_stretch()) {
      result = as_matrix(rows, room);
    } else {
      pack(rows, 1.0f, room + stretch.column * padded(size));
    }
  });
  return result;
}

/// The columns of whole vectors that hold a range of columns.
inline Range whole_vectors(Range columns) { return {columns.begin / kLanes * kLanes, padded(columns.end)}; }

/// c = a b at least where rows see columns: a is [rows, depth].
inline void multiply_at_edges(const Tile& tile, const LeftOperand& a, const Panels& b, const Product& c) {
  for (std::int64_t panel = 0; panel < b.columns; panel += Panels::kColumns) {
    const std::int64_t panel_end = panel + b.width(panel);
    for_even_pieces(
        tile.num_rows(), rows_beside(static_cast<int>(b.width(panel) / kLanes)), [&](std::int64_t row, int count) {
          const Range seen = whole_vectors(tile.columns_of_rows(row, count));
          const std::int64_t begin = std::max(seen.begin, panel);
          const std::int64_t end = std::min(seen.end, panel_end);
          if (begin >= end) return;
          multiply_block(count, static_cast<int>((end - begin) / kLanes), {a.data + row * a.row, a.row, a.column},
                         b.from(panel, begin), {c.data + row * c.row + begin, c.row}, b.depth, Into::kOverwrite);
        });
  }
}

/// c = weight b, or c += weight b, of all rows and `size` columns; b is [sources, size].
inline void sum_over_sources(const Tile& tile, const float* weight, std::int64_t stride, const Matrix& b,
                             std::int64_t size, const Product& c, Into into) {
  multiply(tile.num_rows(), size, {weight, stride, 1}, {b.data, b.stride}, c, into,
           [&](std::int64_t row, int count) { return tile.columns_of_rows(row, count); });
}

/// c = weight^T b, or c += weight^T b, of all sources of the tile and `size` columns; b is [rows, size], c is [sources
/// from `first_source` on, size].
inline void sum_over_rows(const Tile& tile, const float* weight, std::int64_t stride, const Matrix& b,
                          std::int64_t size, const Product& c, std::int64_t first_source, Into into) {
  tile.for_stretches([&](const Stretch& stretch) {
    multiply(stretch.count, size, {weight + stretch.column, 1, stride}, {b.data, b.stride},
             {c.data + (stretch.source - first_source) * c.row, c.row}, into,
             [&](std::int64_t source, int count) { return tile.rows_of_columns(stretch.column + source, count); });
  });
}

/// Calls fn(column) for each vector that holds one of `seen`.
template <class Fn>
HWY_INLINE void for_vectors(Range seen, Fn fn) {
  for (std::int64_t column = seen.begin / kLanes * kLanes; column < seen.end; column += kLanes) fn(column);
}

inline void multiply_by(float factor, Range seen, float* row) {
  const FloatTag d;
  const auto factors = hn::Set(d, factor);
  for_vectors(seen, [&](std::int64_t column)
                        HWY_ATTR { hn::Store(hn::Mul(factors, hn::Load(d, row + column)), d, row + column); });
}

/// Sets the columns of a row to zero that share no vector with one of `seen`.
inline void clear_unseen(Range seen, std::int64_t stride, float* row) {
  const Range kept = whole_vectors(seen);
  const auto zero = hn::Zero(FloatTag());
  for (std::int64_t column = 0; column < kept.begin; column += kLanes) hn::Store(zero, FloatTag(), row + column);
  for (std::int64_t column = kept.end; column < stride; column += kLanes) hn::Store(zero, FloatTag(), row + column);
}

/// Calls fn(column, is_seen) for each vector that holds a column which the row sees; it must see one.
template <class Fn>
HWY_INLINE void for_seen(const Tile& tile, std::int64_t row, Fn fn) {
  const FloatTag d;
  const Range seen = tile.columns(row);
  if (!tile.sees_all_between()) {
    for_vectors(seen, [&](std::int64_t column) HWY_ATTR {
      const unsigned bits = tile.bits(row, column / kGroupSources) >> (column % kGroupSources);
      const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)};
      fn(column, hn::LoadMaskBits(d, bytes));
    });
    return;
  }
  const Range whole = whole_vectors(seen);
  const std::int64_t last = whole.end - kLanes;
  auto is_seen = hn::Not(hn::FirstN(d, static_cast<std::size_t>(seen.begin - whole.begin)));
  for (std::int64_t column = whole.begin; column < last; column += kLanes) {
    fn(column, is_seen);
    is_seen = hn::FirstN(d, static_cast<std::size_t>(kLanes));
  }
  fn(last, hn::And(is_seen, hn::FirstN(d, static_cast<std::size_t>(seen.end - last))));
}

/// Where the weights of a block lie that go from forward to backward, [rows, padded(sources)], or null. Where a clamp
/// bounds scores, backward has to compute them again to see which ones it holds.
template <typename T>
float* kept_weights(const AttentionForward<T>& p, const TilePlan& plan, const RowBlock& block, std::int64_t head) {
  if (p.kept_weights == nullptr || block.kept_begin < 0) return nullptr;
  if (p.clamp < std::numeric_limits<float>::infinity()) return nullptr;
  return p.kept_weights + (head - p.heads().begin) * plan.num_kept_weights + block.kept_begin;
}

/// Turns products of queries and keys into scores, row by row.
class ScoreRule {
 public:
  template <typename T>
  explicit ScoreRule(const AttentionForward<T>& p)
      : scale_(p.scale), clamp_(p.clamp), edge_bias_(p.edge_bias), num_heads_(p.num_heads) {}

  bool bounds() const { return clamp_ < std::numeric_limits<float>::infinity(); }

  /// Calls fn(column, score) for each vector that holds a column which the row sees, with kNoScore in lanes that it
  /// does not, and puts what that returns in the product's place. `moves`, unless null, becomes 1 where the product
  /// moves the score and 0 where the clamp holds it.
  template <class Fn>
  HWY_INLINE void apply(const Tile& tile, std::int64_t head, std::int64_t row, float* score, float* moves,
                        Fn fn) const {
    const FloatTag d;
    const bool only_scales = !bounds() && edge_bias_ == nullptr;
    if (!only_scales) bound_and_bias(tile, head, row, score, moves);
    const auto factor = hn::Set(d, only_scales ? scale_ : 1.0f);
    for_seen(tile, row, [&](std::int64_t column, auto is_seen) HWY_ATTR {
      const auto scaled = hn::Mul(factor, hn::Load(d, score + column));
      hn::Store(fn(column, hn::IfThenElse(is_seen, scaled, hn::Set(d, kNoScore))), d, score + column);
    });
  }

 private:
  void bound_and_bias(const Tile& tile, std::int64_t head, std::int64_t row, float* score, float* moves) const {
    const Range seen = tile.columns(row);
    multiply_by(scale_, seen, score);
    if (bounds()) bound(seen, score, moves);
    if (edge_bias_ == nullptr) return;
    const float* bias = edge_bias_ + tile.first_edge(row) * num_heads_ + head;
    tile.for_edges(row, [&](std::int64_t i, std::int64_t column) { score[column] += bias[i * num_heads_]; });
  }

  void bound(Range seen, float* score, float* moves) const {
    const FloatTag d;
    const auto largest = hn::Set(d, clamp_);
    const auto smallest = hn::Neg(largest);
    for_vectors(seen, [&](std::int64_t column) HWY_ATTR {
      const auto x = hn::Load(d, score + column);
      const auto is_above = hn::Gt(x, largest);
      const auto is_below = hn::Lt(x, smallest);
      hn::Store(hn::IfThenElse(is_above, largest, hn::IfThenElse(is_below, smallest, x)), d, score + column);
      if (moves == nullptr) return;
      hn::Store(hn::IfThenZeroElse(hn::Or(is_above, is_below), hn::Set(d, 1.0f)), d, moves + column);
    });
  }

  float scale_;
  float clamp_;
  const float* edge_bias_;
  std::int64_t num_heads_;
};

/// The factors of dropout of a tile's edges.
class TileDropout {
 public:
  template <typename T>
  TileDropout(const AttentionForward<T>& p, Scratch& scratch)
      : factors_(p.dropout), num_heads_(p.num_heads), drops_(p.dropout.rate != 0.0) {
    if (drops_) room_ = scratch.take(kTileRows * kRowRoom);
  }

  bool drops() const { return drops_; }

  void draw(const Tile& tile, std::int64_t head) {
    if (!drops_) return;
    head_ = head;
    if (tile.has_whole_rows()) {
      const std::int64_t last = tile.num_rows() - 1;
      const EdgeIndex first_edge = tile.first_edge(0);
      const EdgeIndex end_edge = tile.first_edge(last) + tile.columns(last).size();
      const float* factor = draw_edges(first_edge, end_edge, room_);
      for (std::int64_t row = 0; row <= last; ++row) {
        factor_of_column_[row] = factor + (tile.first_edge(row) - first_edge) - tile.columns(row).begin;
      }
      return;
    }
    for (std::int64_t row = 0; row < tile.num_rows(); ++row) {
      float* room = room_ + row * kRowRoom;
      factor_of_column_[row] = tile.sees_all_between() ? draw_row(tile, row, room) : draw_list(tile, row, room);
    }
  }

  /// Of the columns that a row sees; other lanes of their vectors are finite.
  const float* of_row(std::int64_t row) const { return factor_of_column_[row]; }

 private:
  // A vector before the edges, up to three that share the first one's block, and a vector and the slack behind them.
  static constexpr std::int64_t kRowRoom =
      padded(kLanes + 3 + kTileSources + std::max<std::int64_t>(kLanes, kDropoutFactorsSlack));

  const float* draw_row(const Tile& tile, std::int64_t row, float* room) const {
    const Range seen = tile.columns(row);
    return draw_edges(tile.first_edge(row), tile.first_edge(row) + seen.size(), room) - seen.begin;
  }

  const float* draw_list(const Tile& tile, std::int64_t row, float* room) const {
    std::int64_t num_edges = 0;
    tile.for_edges(row, [&](std::int64_t, std::int64_t) { ++num_edges; });
    HWY_ALIGN float of_edges[kRowRoom];
    const float* factor = draw_edges(tile.first_edge(row), tile.first_edge(row) + num_edges, of_edges);
    std::fill_n(room, padded(tile.num_columns()), 0.0f);
    tile.for_edges(row, [&](std::int64_t i, std::int64_t column) { room[column] = factor[i]; });
    return room;
  }

  // Lanes beside the edges are read too, and zeros there.
  const float* draw_edges(EdgeIndex begin, EdgeIndex end, float* room) const {
    const EdgeIndex first_quad = begin / 4;
    float* factor = room + kLanes;
    factors_.of_blocks(static_cast<std::uint64_t>(first_quad * num_heads_ + head_),
                       static_cast<std::uint64_t>(num_heads_), (end + 3) / 4 - first_quad, factor);
    hn::StoreU(hn::Zero(FloatTag()), FloatTag(), room);
    hn::StoreU(hn::Zero(FloatTag()), FloatTag(), factor + (end - 4 * first_quad));
    return factor + begin % 4;
  }

  DropoutFactors factors_;
  std::int64_t num_heads_;
  std::int64_t head_ = 0;
  bool drops_;
  float* room_ = nullptr;
  std::array<const float*, kTileRows> factor_of_column_;
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_TILE_STAGES_INL_H
