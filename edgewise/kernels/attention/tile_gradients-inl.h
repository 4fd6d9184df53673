// SPDX-License-Identifier: Apache-2.0
// D = destinations, S = sources, H = heads, K = head size, V = value size; a tile is R rows by C columns.
// From the gradient of what attention gave to those of scores, queries, keys and values, one tile at a time. Included
// once for each instruction set.
#if defined(EDGEWISE_KERNELS_CPU_TILE_GRADIENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_TILE_GRADIENTS_INL_H
#undef EDGEWISE_KERNELS_CPU_TILE_GRADIENTS_INL_H
#else
#define EDGEWISE_KERNELS_CPU_TILE_GRADIENTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/attention/tile_stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Gradients of one head, tile by tile. What a tile adds to queries and to sources goes to sums in floats that the
/// caller holds, so that the same code serves whoever goes along rows, along sources, or both at once.
template <typename T>
class TileBackward {
 public:
  TileBackward(const AttentionBackward<T>& p, const TilePlan& plan, const TileRun& run, Scratch& scratch)
      : p_(p),
        f_(p.forward),
        plan_(plan),
        run_(run),
        score_rule_(p.forward),
        dropout_(p.forward, scratch),
        rows_are_whole_(run.tile_end - run.tile_begin <= 1),
        is_only_tile_(rows_are_whole_ && run.block_end - run.block_begin == 1) {
    if (is_only_tile_) only_tile_.emplace(p.forward.relation, plan, plan.blocks[run.block_begin], run.sources);
    const auto most_columns = std::min<std::int64_t>(kTileSources, run.sources.end - run.sources.begin);
    stride_ = padded(most_columns);
    query_ = take_matrix(scratch, kTileRows, f_.head_size);
    grad_out_ = take_matrix(scratch, kTileRows, f_.value_size);
    if (!rows_are_whole_) out_ = take_matrix(scratch, kTileRows, f_.value_size);
    key_ = take_matrix(scratch, most_columns, f_.head_size);
    strip_ = take_matrix(scratch, kLanes, std::max(f_.head_size, f_.value_size));
    key_transposed_ = take_matrix(scratch, stride_, f_.head_size);
    value_ = take_matrix(scratch, most_columns, f_.value_size);
    value_transposed_ = take_matrix(scratch, stride_, f_.value_size);
    weight_ = take_matrix(scratch, kTileRows, most_columns);
    grad_score_ = take_matrix(scratch, kTileRows, most_columns);
    if (score_rule_.bounds()) moves_ = take_matrix(scratch, 1, most_columns);
  }

  void begin_head(std::int64_t head) {
    head_ = head;
    kept_ = is_only_tile_ ? kept_weights(f_, plan_, plan_.blocks[run_.block_begin], head) : nullptr;
  }

  /// Everything about a run of one tile, whose results go straight to where they belong. False where that cannot be.
  bool differentiate_only_tile() {
    if constexpr (std::is_same_v<T, float>) {
      if (!is_only_tile_ || f_.head_size % kLanes != 0 || f_.value_size % kLanes != 0) return false;
      const RowBlock& block = plan_.blocks[run_.block_begin];
      const Tile& tile = *only_tile_;
      if (tile.is_empty() || !tile.is_one_stretch()) return false;
      fetch_next_head(tile, block);
      load_rows(block);
      load_sources(tile);
      differentiate(tile);
      store_only_tile(tile, block);
      return true;
    }
    return false;
  }

  /// Calls sum(tile) for each tile of the block when its weights and gradients of scores are at hand.
  template <class Sum>
  void differentiate_block(const RowBlock& block, Sum sum) {
    load_rows(block);
    for_tiles_of(plan_, block, [&](Interval sources) {
      const Tile tile(f_.relation, plan_, block, sources);
      if (tile.is_empty()) return;
      load_sources(tile);
      differentiate(tile);
      sum(tile);
    });
  }

  /// Makes the rows of a block those of the next tiles.
  void load_rows(const RowBlock& block) {
    const std::int64_t rows = block.row_end - block.row_begin;
    queries_ = as_matrix(of_head(f_.query, block.row_begin, rows, f_.head_size), query_);
    grad_outs_ = as_matrix(of_head(p_.grad_out, block.row_begin, rows, f_.value_size), grad_out_);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float normalizer = f_.log_normalizer[(block.row_begin + row) * f_.num_heads + head_];
      log_normalizer_[row] = normalizer == kNoScore ? -kNoScore : normalizer;
    }
    if (!rows_are_whole_) load_mean_gradients(block);
  }

  /// Makes the sources of a tile the columns of those that follow.
  void load_sources(const Tile& tile) {
    keys_ = rows_of_sources(tile, f_.key, head_, f_.num_heads, f_.head_size, key_);
    if (kept_ == nullptr) {
      key_panels_ = transpose(keys_, tile.num_columns(), padded(f_.head_size), strip_, key_transposed_);
    }
    const Matrix values = rows_of_sources(tile, f_.value, head_, f_.num_heads, f_.value_size, value_);
    value_panels_ = transpose(values, tile.num_columns(), padded(f_.value_size), strip_, value_transposed_);
  }

  /// Weights and gradients of scores, from the rows and sources that were loaded.
  void differentiate(const Tile& tile) {
    if (kept_ == nullptr) {
      multiply_at_edges(tile, {queries_.data, queries_.stride, 1}, key_panels_, {weight_, stride_});
    }
    multiply_at_edges(tile, {grad_outs_.data, grad_outs_.stride, 1}, value_panels_, {grad_score_, stride_});
    dropout_.draw(tile, head_);
    for (std::int64_t row = 0; row < tile.num_rows(); ++row) differentiate_row(tile, row);
  }

  /// [R, K].
  void sum_for_queries(const Tile& tile, float* grad_query) const {
    const std::int64_t size = padded(f_.head_size);
    sum_over_sources(tile, grad_score_, stride_, keys_, size, {grad_query, size}, Into::kAdd);
  }

  /// [S, K] and [S, V], from source `first_source` on.
  void sum_for_sources(const Tile& tile, std::int64_t first_source, float* grad_key, float* grad_value) const {
    const std::int64_t head_size = padded(f_.head_size);
    const std::int64_t value_size = padded(f_.value_size);
    sum_over_rows(tile, grad_score_, stride_, queries_, head_size, {grad_key, head_size}, first_source, Into::kAdd);
    sum_over_rows(tile, weight_, stride_, grad_outs_, value_size, {grad_value, value_size}, first_source, Into::kAdd);
  }

  void store_queries(const RowBlock& block, const float* grad_query) const {
    unpack(grad_query, of_head(p_.grad_query, block.row_begin, block.row_end - block.row_begin, f_.head_size));
  }

  void store_sources(Interval sources, const float* grad_key, const float* grad_value) const {
    const std::int64_t count = sources.end - sources.begin;
    unpack(grad_key, of_head(p_.grad_key, sources.begin, count, f_.head_size));
    unpack(grad_value, of_head(p_.grad_value, sources.begin, count, f_.value_size));
  }

 private:
  template <typename U>
  Rows<U> of_head(U* tensor, std::int64_t first, std::int64_t count, std::int64_t size) const {
    return rows_of_head(tensor, first, count, head_, f_.num_heads, size);
  }

  void fetch_next_head(const Tile& tile, const RowBlock& block) const {
    const std::int64_t next = head_ + 1;
    if (next == f_.heads().end) return;
    auto of_rows = [&](auto* tensor, std::int64_t size) {
      return rows_of_head(tensor, block.row_begin, tile.num_rows(), next, f_.num_heads, size);
    };
    auto of_sources = [&](auto* tensor, std::int64_t size) {
      return rows_of_head(tensor, run_.sources.begin, tile.num_columns(), next, f_.num_heads, size);
    };
    fetch_ahead(of_rows(f_.query, f_.head_size));
    fetch_ahead(of_rows(p_.grad_out, f_.value_size));
    fetch_ahead(of_sources(f_.key, f_.head_size));
    fetch_ahead(of_sources(f_.value, f_.value_size));
    fetch_ahead(of_rows(p_.grad_query, f_.head_size));
    fetch_ahead(of_sources(p_.grad_key, f_.head_size));
    fetch_ahead(of_sources(p_.grad_value, f_.value_size));
  }

  void store_only_tile(const Tile& tile, const RowBlock& block) const {
    const Rows<float> query = of_head(p_.grad_query, block.row_begin, tile.num_rows(), f_.head_size);
    const Rows<float> key = of_head(p_.grad_key, run_.sources.begin, tile.num_columns(), f_.head_size);
    const Rows<float> value = of_head(p_.grad_value, run_.sources.begin, tile.num_columns(), f_.value_size);
    const NodeIndex first = run_.sources.begin;
    sum_over_sources(tile, grad_score_, stride_, keys_, f_.head_size, {query.data, query.stride}, Into::kOverwrite);
    sum_over_rows(tile, grad_score_, stride_, queries_, f_.head_size, {key.data, key.stride}, first, Into::kOverwrite);
    sum_over_rows(tile, weight_, stride_, grad_outs_, f_.value_size, {value.data, value.stride}, first,
                  Into::kOverwrite);
  }

  void load_mean_gradients(const RowBlock& block) {
    const FloatTag d;
    const std::int64_t rows = block.row_end - block.row_begin;
    const std::int64_t size = padded(f_.value_size);
    pack(of_head<const T>(f_.out, block.row_begin, rows, f_.value_size), 1.0f, out_);
    for (std::int64_t row = 0; row < rows; ++row) {
      auto sum = hn::Zero(d);
      for (std::int64_t v = 0; v < size; v += kLanes) {
        sum = hn::MulAdd(hn::LoadU(d, grad_outs_.data + row * grad_outs_.stride + v),
                         hn::Load(d, out_ + row * size + v), sum);
      }
      mean_gradient_[row] = hn::GetLane(hn::SumOfLanes(d, sum));
    }
  }

  // With w the weights, m the factors of dropout and g the gradient of out: w becomes w * m, and <g, value> becomes
  // w * (m * <g, value> - mean), the gradient of the score, which becomes that of the product. The mean is the row's
  // sum of w * m * <g, value>, or <g, out>.
  void differentiate_row(const Tile& tile, std::int64_t row) {
    const Range seen = tile.columns(row);
    float* weight = weight_ + row * stride_;
    float* grad = grad_score_ + row * stride_;
    if (seen.size() > 0) {
      const float* factor = dropout_.drops() ? dropout_.of_row(row) : nullptr;
      const float mean = weigh(tile, row, factor, weight, grad);
      const bool only_scales = p_.grad_edge_bias == nullptr && moves_ == nullptr;
      subtract_mean(seen, rows_are_whole_ ? mean : mean_gradient_[row], factor, only_scales ? f_.scale : 1.0f, weight,
                    grad);
      if (!only_scales) turn_back(tile, row, grad);
    }
    clear_unseen(seen, stride_, weight);
    clear_unseen(seen, stride_, grad);
  }

  // Weights of the row, and grad becomes m * <g, value>. Returns the sum of it times w.
  float weigh(const Tile& tile, std::int64_t row, const float* factor, float* weight, float* grad) const {
    const FloatTag d;
    auto sum = hn::Zero(d);
    auto take = [&](std::int64_t column, auto w) HWY_ATTR {
      auto g = hn::Load(d, grad + column);
      if (factor != nullptr) {
        g = hn::Mul(g, hn::LoadU(d, factor + column));
        hn::Store(g, d, grad + column);
      }
      sum = hn::MulAdd(w, g, sum);
      return w;
    };
    if (kept_ == nullptr) {
      const auto normalizer = hn::Set(d, log_normalizer_[row]);
      score_rule_.apply(tile, head_, row, weight, moves_, [&](std::int64_t column, auto score) HWY_ATTR {
        return take(column, exp_lanes(hn::Sub(score, normalizer)));
      });
    } else {
      const float* kept = kept_ + row * stride_;
      for_vectors(tile.columns(row), [&](std::int64_t column) HWY_ATTR {
        hn::Store(take(column, hn::Load(d, kept + column)), d, weight + column);
      });
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  static void subtract_mean(Range seen, float mean_gradient, const float* factor, float scale, float* weight,
                            float* grad) {
    const FloatTag d;
    const auto mean = hn::Set(d, mean_gradient);
    const auto scales = hn::Set(d, scale);
    for_vectors(seen, [&](std::int64_t column) HWY_ATTR {
      const auto w = hn::Load(d, weight + column);
      hn::Store(hn::Mul(scales, hn::Mul(w, hn::Sub(hn::Load(d, grad + column), mean))), d, grad + column);
      if (factor != nullptr) hn::Store(hn::Mul(w, hn::LoadU(d, factor + column)), d, weight + column);
    });
  }

  // From the gradient of a score to that of its product, with that of its bias on the way.
  void turn_back(const Tile& tile, std::int64_t row, float* grad) const {
    const Range seen = tile.columns(row);
    if (p_.grad_edge_bias != nullptr) store_bias(tile, row, grad);
    if (moves_ != nullptr) stop_bounded(seen, grad);
    multiply_by(f_.scale, seen, grad);
  }

  void store_bias(const Tile& tile, std::int64_t row, const float* grad) const {
    float* bias = p_.grad_edge_bias + tile.first_edge(row) * f_.num_heads + head_;
    tile.for_edges(row, [&](std::int64_t i, std::int64_t column) { bias[i * f_.num_heads] = grad[column]; });
  }

  void stop_bounded(Range seen, float* grad) const {
    const FloatTag d;
    for_vectors(seen, [&](std::int64_t column) HWY_ATTR {
      hn::Store(hn::Mul(hn::Load(d, grad + column), hn::Load(d, moves_ + column)), d, grad + column);
    });
  }

  const AttentionBackward<T>& p_;
  const AttentionForward<T>& f_;
  const TilePlan& plan_;
  const TileRun& run_;
  std::int64_t head_ = 0;
  ScoreRule score_rule_;
  TileDropout dropout_;
  bool rows_are_whole_;              // a tile holds all edges of its rows
  bool is_only_tile_;                // of the run
  std::optional<Tile> only_tile_;    // which has it for all heads
  const float* kept_ = nullptr;      // [R, C], the weights as forward left them, or null
  std::int64_t stride_;              // of weight_ and grad_score_
  float* query_;                     // [R, K]
  float* out_ = nullptr;             // [R, V], unless rows are whole
  float* grad_out_;                  // [R, V]
  float* key_;                       // [C, K]
  float* strip_;                     // of transpositions
  float* key_transposed_;            // [K, C]
  float* value_;                     // [C, V]
  float* value_transposed_;          // [V, C]
  float* weight_;                    // [R, C]
  float* grad_score_;                // [R, C]
  float* moves_ = nullptr;           // [C], of the row at hand
  Matrix queries_;                   // query_, or the tensor itself
  Matrix keys_;                      // key_, or the tensor itself
  Matrix grad_outs_;                 // grad_out_, or the tensor itself
  Panels key_panels_;                // key_transposed_
  Panels value_panels_;              // value_transposed_
  float log_normalizer_[kTileRows];  // infinity for a row without edges, whose weights are then 0
  float mean_gradient_[kTileRows];   // unless rows are whole
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_TILE_GRADIENTS_INL_H
