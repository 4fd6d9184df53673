// SPDX-License-Identifier: Apache-2.0
// Backward of attention for one tile: gradients of scores, queries, keys and values. Compiled once for each instruction
// set. Shapes: S = sources, K = head size, V = value size; a tile is R rows by C columns.
#if defined(EDGEWISE_KERNELS_ATTENTION_TILE_GRADIENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_ATTENTION_TILE_GRADIENTS_INL_H
#undef EDGEWISE_KERNELS_ATTENTION_TILE_GRADIENTS_INL_H
#else
#define EDGEWISE_KERNELS_ATTENTION_TILE_GRADIENTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/tile_score-inl.h"
#include "edgewise/kernels/attention/tile_stages-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Computes the gradients of one head, tile by tile. The caller owns the sums of gradients, as floats. The caller may
/// therefore visit tiles by rows, by sources, or by both at once. The gradients of keys and values are sums over the
/// heads that share them, which the caller visits one after the other.
template <typename T>
class TileBackward {
 public:
  /// `score_gradients` is null unless there is a score function.
  TileBackward(const AttentionBackward<T>& p, const TilePlan& plan, const TileRun& run,
               const TileScoreGradients* score_gradients, Scratch& scratch)
      : p_(p),
        f_(p.forward),
        plan_(plan),
        run_(run),
        scale_and_clamp_(p.forward),
        dropout_(p.forward, scratch),
        score_gradients_(score_gradients),
        rows_are_whole_(run.tile_end - run.tile_begin <= 1),
        is_only_tile_(rows_are_whole_ && run.block_end - run.block_begin == 1) {
    if (is_only_tile_) only_tile_.emplace(plan, plan.blocks[run.block_begin], run.sources);
    const auto max_columns = std::min<std::int64_t>(kTileSources, run.sources.end - run.sources.begin);
    stride_ = padded_size(max_columns);
    query_ = take_matrix(scratch, kTileRows, f_.head_size);
    grad_out_ = take_matrix(scratch, kTileRows, f_.value_size);
    if (!rows_are_whole_) out_ = take_matrix(scratch, kTileRows, f_.value_size);
    key_ = take_matrix(scratch, max_columns, f_.head_size);
    strip_ = take_matrix(scratch, kLanes, std::max(f_.head_size, f_.value_size));
    key_transposed_ = take_matrix(scratch, stride_, f_.head_size);
    value_ = take_matrix(scratch, max_columns, f_.value_size);
    value_transposed_ = take_matrix(scratch, stride_, f_.value_size);
    weight_ = take_matrix(scratch, kTileRows, max_columns);
    grad_score_ = take_matrix(scratch, kTileRows, max_columns);
    if (scale_and_clamp_.has_clamp()) clamp_slope_ = take_matrix(scratch, 1, max_columns);
    product_ = weight_;
    if (f_.score == nullptr) return;
    product_ = take_matrix(scratch, kTileRows, max_columns);
    score_function_.emplace(*f_.score, f_.scale, f_.num_heads, score_gradients);
  }

  /// Chooses the gradients of a score function to compute, as TileScore::select_gradients() does.
  void select_score_gradients(bool of_rows, bool of_sources) {
    if (score_function_) score_function_->select_gradients(of_rows, of_sources);
  }

  void begin_head(std::int64_t head) {
    head_ = head;
    if (!is_only_tile_) return;
    const RowBlock& block = plan_.blocks[run_.block_begin];
    saved_ = saved_weights_of(f_, plan_, block, head);
    saved_products_ = saved_products_of(f_, plan_, block, head);
  }

  /// Return whether the head is the first or the last one of those that share its keys and values.
  bool begins_group() const { return head_ % f_.group_size() == 0; }
  bool ends_group() const { return (head_ + 1) % f_.group_size() == 0; }

  /// Computes all gradients of a run that is one tile and writes them directly to p. Returns false, and computes
  /// nothing, unless T is float and the sizes allow direct writes.
  bool differentiate_only_tile() {
    if constexpr (std::is_same_v<T, float>) {
      if (!is_only_tile_ || f_.head_size % kLanes != 0 || f_.value_size % kLanes != 0) return false;
      const RowBlock& block = plan_.blocks[run_.block_begin];
      const RelationTile& tile = *only_tile_;
      if (tile.is_empty() || !tile.has_one_span()) return false;
      prefetch_next_head(tile, block);
      load_rows(block);
      load_sources(tile);
      differentiate(tile);
      store_only_tile(tile, block);
      return true;
    }
    return false;
  }

  /// Calls sum(tile) for each tile of the block, after computing the tile's weights and gradients of scores.
  template <class Sum>
  void differentiate_block(const RowBlock& block, Sum sum) {
    load_rows(block);
    for_tiles(plan_, block, [&](Interval sources) {
      const RelationTile tile(plan_, block, sources);
      if (tile.is_empty()) return;
      load_sources(tile);
      differentiate(tile);
      sum(tile);
    });
  }

  /// Loads the queries and gradients of outputs of a block for differentiate().
  void load_rows(const RowBlock& block) {
    const std::int64_t rows = block.row_end - block.row_begin;
    first_row_ = block.row_begin;
    if (score_function_) piece_ = score_gradients_->piece_of_block[&block - plan_.blocks.data()];
    queries_ = view_or_pack(head_rows(f_.query, block.row_begin, rows, f_.head_size), query_);
    grad_outs_ = view_or_pack(head_rows(p_.grad_out, block.row_begin, rows, f_.value_size), grad_out_);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float normalizer = f_.log_normalizer[(block.row_begin + row) * f_.num_heads + head_];
      log_normalizer_[row] = normalizer == kNoScore ? -kNoScore : normalizer;
    }
    if (!rows_are_whole_) load_mean_gradients(block);
  }

  /// Loads the keys and values of a tile's sources for differentiate().
  void load_sources(const RelationTile& tile) {
    const std::int64_t key_head = f_.key_head(head_);
    keys_ = load_sources_of_head(tile, f_.key, key_head, f_.key_heads(), f_.head_size, key_);
    if (saved_ == nullptr && saved_products_ == nullptr) {
      key_panels_ = transpose(keys_, tile.num_columns(), f_.head_size, strip_, key_transposed_);
    }
    const PaddedMatrix values = load_sources_of_head(tile, f_.value, key_head, f_.key_heads(), f_.value_size, value_);
    value_panels_ = transpose(values, tile.num_columns(), f_.value_size, strip_, value_transposed_);
  }

  /// Computes the tile's weights and gradients of scores from the loaded rows and sources.
  void differentiate(const RelationTile& tile) {
    if (saved_ == nullptr && saved_products_ == nullptr) {
      multiply_at_edges(tile, {queries_.data, queries_.stride, 1}, key_panels_, {product_, stride_});
    }
    const float* product = saved_products_ != nullptr ? saved_products_ : product_;
    if (score_function_ && saved_ == nullptr) {
      score_function_->compute(tile, first_row_, head_, product, weight_, stride_);
    }
    multiply_at_edges(tile, {grad_outs_.data, grad_outs_.stride, 1}, value_panels_, {grad_score_, stride_});
    dropout_.draw(tile, head_);
    for (std::int64_t row = 0; row < tile.num_rows(); ++row) differentiate_row(tile, row);
    if (score_function_) {
      score_function_->differentiate(tile, first_row_, head_, product, grad_score_, stride_, piece_);
    }
  }

  /// Adds the tile's part to grad_query [R, K].
  void sum_for_queries(const RelationTile& tile, float* grad_query) const {
    const std::int64_t size = padded_size(f_.head_size);
    sum_over_sources(tile, grad_score_, stride_, keys_, size, {grad_query, size}, WriteMode::kAdd);
  }

  /// Adds the tile's part to grad_key [S, K] and grad_value [S, V], whose first row is source `first_source`.
  void sum_for_sources(const RelationTile& tile, std::int64_t first_source, float* grad_key, float* grad_value) const {
    const std::int64_t head_size = padded_size(f_.head_size);
    const std::int64_t value_size = padded_size(f_.value_size);
    sum_over_rows(tile, grad_score_, stride_, queries_, head_size, {grad_key, head_size}, first_source,
                  WriteMode::kAdd);
    sum_over_rows(tile, weight_, stride_, grad_outs_, value_size, {grad_value, value_size}, first_source,
                  WriteMode::kAdd);
  }

  void store_queries(const RowBlock& block, const float* grad_query) {
    const std::int64_t rows = block.row_end - block.row_begin;
    add_check(unpack(grad_query, head_rows(p_.grad_query, block.row_begin, rows, f_.head_size)));
  }

  void store_sources(Interval sources, const float* grad_key, const float* grad_value) {
    const std::int64_t count = sources.end - sources.begin;
    add_check(unpack(grad_key, source_rows(p_.grad_key, sources.begin, count, f_.head_size)));
    add_check(unpack(grad_value, source_rows(p_.grad_value, sources.begin, count, f_.value_size)));
  }

  /// Returns whether all gradients stored so far are finite.
  bool is_finite() const { return is_finite_; }

 private:
  void add_check(bool are_finite) { is_finite_ = is_finite_ && are_finite; }

  template <typename U>
  StridedRows<U> head_rows(U* tensor, std::int64_t first, std::int64_t count, std::int64_t size) const {
    return rows_of_head(tensor, first, count, head_, f_.num_heads, size);
  }

  template <typename U>
  StridedRows<U> source_rows(U* tensor, std::int64_t first, std::int64_t count, std::int64_t size) const {
    return rows_of_head(tensor, first, count, f_.key_head(head_), f_.key_heads(), size);
  }

  void prefetch_next_head(const RelationTile& tile, const RowBlock& block) const {
    const std::int64_t next = head_ + 1;
    if (next == f_.heads().end) return;
    auto next_rows = [&](auto* tensor, std::int64_t size) {
      return rows_of_head(tensor, block.row_begin, tile.num_rows(), next, f_.num_heads, size);
    };
    auto next_sources = [&](auto* tensor, std::int64_t size) {
      return rows_of_head(tensor, run_.sources.begin, tile.num_columns(), f_.key_head(next), f_.key_heads(), size);
    };
    prefetch(next_rows(f_.query, f_.head_size));
    prefetch(next_rows(p_.grad_out, f_.value_size));
    prefetch(next_sources(f_.key, f_.head_size));
    prefetch(next_sources(f_.value, f_.value_size));
    prefetch(next_rows(p_.grad_query, f_.head_size));
    prefetch(next_sources(p_.grad_key, f_.head_size));
    prefetch(next_sources(p_.grad_value, f_.value_size));
  }

  void store_only_tile(const RelationTile& tile, const RowBlock& block) {
    const StridedRows<float> query = head_rows(p_.grad_query, block.row_begin, tile.num_rows(), f_.head_size);
    const StridedRows<float> key = source_rows(p_.grad_key, run_.sources.begin, tile.num_columns(), f_.head_size);
    const StridedRows<float> value = source_rows(p_.grad_value, run_.sources.begin, tile.num_columns(), f_.value_size);
    const WriteMode mode = begins_group() ? WriteMode::kOverwrite : WriteMode::kAdd;
    const NodeIndex first = run_.sources.begin;
    sum_over_sources(tile, grad_score_, stride_, keys_, f_.head_size, {query.data, query.stride},
                     WriteMode::kOverwrite);
    sum_over_rows(tile, grad_score_, stride_, queries_, f_.head_size, {key.data, key.stride}, first, mode);
    sum_over_rows(tile, weight_, stride_, grad_outs_, f_.value_size, {value.data, value.stride}, first, mode);
    for (const StridedRows<float>& gradients : {query, key, value}) add_check(are_finite(gradients));
  }

  void load_mean_gradients(const RowBlock& block) {
    const FloatTag d;
    const std::int64_t rows = block.row_end - block.row_begin;
    const std::int64_t size = padded_size(f_.value_size);
    pack(head_rows<const T>(f_.out, block.row_begin, rows, f_.value_size), 1.0f, out_);
    for (std::int64_t row = 0; row < rows; ++row) {
      auto sum = hn::Zero(d);
      for (std::int64_t v = 0; v < size; v += kLanes) {
        sum = hn::MulAdd(hn::LoadU(d, grad_outs_.data + row * grad_outs_.stride + v),
                         hn::Load(d, out_ + row * size + v), sum);
      }
      mean_gradient_[row] = hn::GetLane(hn::SumOfLanes(d, sum));
      const EdgeIndex* row_begin = plan_.relation.row_begin + block.row_begin + row;
      has_one_edge_[row] = row_begin[1] - row_begin[0] == 1;
    }
  }

  // Notation: w = weights, m = dropout factors, g = gradient of out. `weight` becomes w * m. `grad` changes from
  // <g, value> to the gradient of the score, w * (m * <g, value> - mean), and then to the gradient of <query, key>. The
  // mean is the sum over the row of w * m * <g, value>. In a row with edges in several tiles it is <g, out>, which
  // differs by the rounding of out to T.
  void differentiate_row(const RelationTile& tile, std::int64_t row) {
    const IndexRange columns = tile.columns(row);
    float* weight = weight_ + row * stride_;
    float* grad = grad_score_ + row * stride_;
    if (columns.size() > 0) {
      const float* factor = dropout_.is_active() ? dropout_.factors(row) : nullptr;
      const float mean = compute_weights(tile, row, factor, weight, grad);
      const bool is_whole = rows_are_whole_ || has_one_edge_[row];
      const bool only_scales = p_.grad_edge_bias == nullptr && clamp_slope_ == nullptr;
      const float scale = only_scales && !score_function_ ? f_.scale : 1.0f;
      subtract_mean(columns, is_whole ? mean : mean_gradient_[row], factor, scale, weight, grad);
      if (!only_scales) differentiate_scores(tile, row, grad);
    }
    clear_outside(columns, stride_, weight);
    clear_outside(columns, stride_, grad);
  }

  // Writes the weights of the row and turns grad into m * <g, value>. Returns the mean of grad over the row, weighted
  // by the weights. The sum of weights that are computed again differs from 1 by the rounding error of the normalizer,
  // which is large for large scores.
  float compute_weights(const RelationTile& tile, std::int64_t row, const float* factor, float* weight,
                        float* grad) const {
    const FloatTag d;
    auto sum = hn::Zero(d);
    auto total = hn::Zero(d);
    auto add_weight = [&](std::int64_t column, auto w) HWY_ATTR {
      auto g = hn::Load(d, grad + column);
      if (factor != nullptr) {
        g = hn::Mul(g, hn::LoadU(d, factor + column));
        hn::Store(g, d, grad + column);
      }
      sum = hn::MulAdd(w, g, sum);
      total = hn::Add(total, w);
      return w;
    };
    if (saved_ == nullptr) {
      const auto normalizer = hn::Set(d, log_normalizer_[row]);
      scale_and_clamp_.apply(tile, head_, row, weight, clamp_slope_, [&](std::int64_t column, auto score) HWY_ATTR {
        return add_weight(column, exp_lanes(hn::Sub(score, normalizer)));
      });
    } else {
      const float* saved = saved_ + row * stride_;
      for_vectors(tile.columns(row), [&](std::int64_t column) HWY_ATTR {
        hn::Store(add_weight(column, hn::Load(d, saved + column)), d, weight + column);
      });
    }
    const float total_weight = hn::GetLane(hn::SumOfLanes(d, total));
    return total_weight == 0.0f ? 0.0f : hn::GetLane(hn::SumOfLanes(d, sum)) / total_weight;
  }

  static void subtract_mean(IndexRange columns, float mean_gradient, const float* factor, float scale, float* weight,
                            float* grad) {
    const FloatTag d;
    const auto mean = hn::Set(d, mean_gradient);
    const auto scales = hn::Set(d, scale);
    for_vectors(columns, [&](std::int64_t column) HWY_ATTR {
      const auto w = hn::Load(d, weight + column);
      hn::Store(hn::Mul(scales, hn::Mul(w, hn::Sub(hn::Load(d, grad + column), mean))), d, grad + column);
      if (factor != nullptr) hn::Store(hn::Mul(w, hn::LoadU(d, factor + column)), d, weight + column);
    });
  }

  // Turns gradients of scores into gradients of <query, key>, and stores the gradients of edge biases.
  void differentiate_scores(const RelationTile& tile, std::int64_t row, float* grad) const {
    const FloatTag d;
    const IndexRange columns = tile.columns(row);
    if (p_.grad_edge_bias != nullptr) {
      float* bias = p_.grad_edge_bias + tile.first_edge(row) * f_.num_heads + head_;
      tile.for_edges(row, [&](std::int64_t i, std::int64_t column) { bias[i * f_.num_heads] = grad[column]; });
    }
    if (clamp_slope_ != nullptr) {
      for_vectors(columns, [&](std::int64_t column) HWY_ATTR {
        hn::Store(hn::Mul(hn::Load(d, grad + column), hn::Load(d, clamp_slope_ + column)), d, grad + column);
      });
    }
    multiply_by(f_.scale, columns, grad);
  }

  const AttentionBackward<T>& p_;
  const AttentionForward<T>& f_;
  const TilePlan& plan_;
  const TileRun& run_;
  std::int64_t head_ = 0;
  ScaleAndClamp scale_and_clamp_;
  std::optional<TileScore> score_function_;
  TileDropout dropout_;
  const TileScoreGradients* score_gradients_;
  std::int64_t first_row_ = 0;  // the first row of the loaded block
  std::int64_t piece_ = 0;      // the piece of the loaded block
  bool rows_are_whole_;         // each tile holds all edges of its rows
  bool is_only_tile_;           // the run is one tile
  bool is_finite_ = true;
  std::optional<RelationTile> only_tile_;  // for all heads, if is_only_tile_
  const float* saved_ = nullptr;           // [R, C], the weights that forward saved, or null
  const float* saved_products_ = nullptr;  // [R, C], the products that forward saved instead, or null
  std::int64_t stride_;                    // floats from row to row of weight_ and grad_score_
  float* query_;                           // [R, K]
  float* out_ = nullptr;                   // [R, V], or null if rows_are_whole_
  float* grad_out_;                        // [R, V]
  float* key_;                             // [C, K]
  float* strip_;                           // [kLanes, max(K, V)], for transpose()
  float* key_transposed_;                  // [K, C]
  float* value_;                           // [C, V]
  float* value_transposed_;                // [V, C]
  float* product_;                         // [R, C], <query, key>: weight_ unless there is a score function
  float* weight_;                          // [R, C]
  float* grad_score_;                      // [R, C]
  float* clamp_slope_ = nullptr;           // [C], for the current row; null without a clamp
  PaddedMatrix queries_;                   // points into query_ or the tensor
  PaddedMatrix keys_;                      // points into key_ or the tensor
  PaddedMatrix grad_outs_;                 // points into grad_out_ or the tensor
  ColumnPanels key_panels_;                // points into key_transposed_
  ColumnPanels value_panels_;              // points into value_transposed_
  float log_normalizer_[kTileRows];        // infinity for a row without edges, so that its weights are 0
  float mean_gradient_[kTileRows];         // unset if rows_are_whole_
  bool has_one_edge_[kTileRows];           // unset if rows_are_whole_
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_ATTENTION_TILE_GRADIENTS_INL_H
