// SPDX-License-Identifier: Apache-2.0
// Shapes: K = head size, V = value size; a tile is R rows by C columns.
#include <atomic>
#include <optional>

#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/attention/tile_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/tile_forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/attention/tile_score-inl.h"
#include "edgewise/kernels/attention/tile_stages-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// Online softmax over the tiles of a block: a new maximum of a row rescales the row's sums so far.
struct SoftmaxState {
  HWY_ALIGN float maximum[kTileRows];
  HWY_ALIGN float base[kTileRows];     // the maximum, or 0 if the row has no score yet
  HWY_ALIGN float total[kTileRows];    // the sum of the weights exp(score - base)
  HWY_ALIGN float rescale[kTileRows];  // the factor for the row's sums so far

  void reset() {
    std::fill_n(maximum, kTileRows, kNoScore);
    std::fill_n(total, kTileRows, 0.0f);
  }

  /// Includes the maxima of the next tile and rescales the totals.
  void raise_maximum(const float* tile_maximum, std::int64_t rows) {
    const FloatTag d;
    const auto no_score = hn::Set(d, kNoScore);
    for_vectors({0, rows}, [&](std::int64_t row) HWY_ATTR {
      const auto before = hn::Load(d, maximum + row);
      const auto after = hn::Max(before, hn::Load(d, tile_maximum + row));
      const auto new_base = hn::IfThenZeroElse(hn::Eq(after, no_score), after);
      const auto factor = exp_lanes(hn::Sub(before, new_base));
      hn::Store(after, d, maximum + row);
      hn::Store(new_base, d, base + row);
      hn::Store(factor, d, rescale + row);
      hn::Store(hn::Mul(factor, hn::Load(d, total + row)), d, total + row);
    });
  }

  /// Writes log(sum of exp(score)) and 1 / total for each row; -inf and 0 for a row without scores.
  void finish(std::int64_t rows, float* log_normalizer, float* inverse) const {
    const FloatTag d;
    const auto zero = hn::Zero(d);
    for_vectors({0, rows}, [&](std::int64_t row) HWY_ATTR {
      const auto sum = hn::Load(d, total + row);
      const auto is_zero = hn::Eq(sum, zero);
      const auto is_nan = hn::IsNaN(sum);
      const auto normalizer = hn::Add(hn::Load(d, maximum + row), hn::Log(d, sum));
      const auto normalizer_or_nan = hn::IfThenElse(is_nan, sum, normalizer);
      hn::Store(hn::IfThenElse(is_zero, hn::Set(d, kNoScore), normalizer_or_nan), d, log_normalizer + row);
      hn::Store(hn::IfThenZeroElse(is_zero, hn::Div(hn::Set(d, 1.0f), sum)), d, inverse + row);
    });
  }
};

/// Computes the outputs of one block of rows, head by head.
template <typename T>
class BlockForward {
 public:
  BlockForward(const AttentionForward<T>& p, const TilePlan& plan, const RowBlock& block, Scratch& scratch)
      : p_(p),
        plan_(plan),
        block_(block),
        num_rows_(block.row_end - block.row_begin),
        scale_and_clamp_(p),
        dropout_(p, scratch) {
    if (p.score != nullptr) score_function_.emplace(*p.score, p.scale, p.num_heads, /*gradients=*/nullptr);
    const std::int64_t num_sources = block.sources.end - block.sources.begin;
    const std::int64_t columns = std::min<std::int64_t>(kTileSources, num_sources);
    if (num_sources <= kTileSources) only_tile_.emplace(plan, block, block.sources);
    stride_ = padded_size(columns);
    query_ = take_matrix(scratch, num_rows_, p.head_size);
    key_ = take_matrix(scratch, columns, p.head_size);
    strip_ = take_matrix(scratch, kLanes, p.head_size);
    key_transposed_ = take_matrix(scratch, stride_, p.head_size);
    value_ = take_matrix(scratch, columns, p.value_size);
    score_buffer_ = take_matrix(scratch, num_rows_, columns);
    sum_ = take_matrix(scratch, num_rows_, p.value_size);
  }

  void run(std::int64_t head) {
    head_ = head;
    saved_ = saved_weights_of(p_, plan_, block_, head);
    score_ = saved_ != nullptr && !dropout_.is_active() ? saved_ : score_buffer_;
    float* const saved_products = saved_products_of(p_, plan_, block_, head);
    product_ = saved_products != nullptr ? saved_products : score_;
    has_sum_ = false;
    queries_ =
        view_or_pack(rows_of_head(p_.query, block_.row_begin, num_rows_, head, p_.num_heads, p_.head_size), query_);
    softmax_.reset();
    if (only_tile_) {
      attend(*only_tile_);
    } else {
      for_tiles(plan_, block_, [&](Interval sources) { attend(RelationTile(plan_, block_, sources)); });
    }
    store_rows();
  }

  /// Returns whether all outputs of the heads so far are finite.
  bool is_finite() const { return is_finite_; }

 private:
  void attend(const RelationTile& tile) {
    if (tile.is_empty()) return;
    multiply_queries_and_keys(tile);
    compute_weights(tile);
    sum_values(tile);
  }

  void multiply_queries_and_keys(const RelationTile& tile) {
    const PaddedMatrix keys =
        load_sources_of_head(tile, p_.key, p_.key_head(head_), p_.key_heads(), p_.head_size, key_);
    const ColumnPanels panels = transpose(keys, tile.num_columns(), p_.head_size, strip_, key_transposed_);
    multiply_at_edges(tile, {queries_.data, queries_.stride, 1}, panels, {product_, stride_});
  }

  void compute_weights(const RelationTile& tile) {
    if (score_function_) score_function_->compute(tile, block_.row_begin, head_, product_, score_, stride_);
    HWY_ALIGN float maximum[kTileRows];
    for (std::int64_t row = 0; row < num_rows_; ++row) maximum[row] = compute_scores(tile, row);
    softmax_.raise_maximum(maximum, num_rows_);
    dropout_.draw(tile, head_);
    for (std::int64_t row = 0; row < num_rows_; ++row) softmax_.total[row] += exponentiate(tile, row);
  }

  // Returns the largest score of the row.
  float compute_scores(const RelationTile& tile, std::int64_t row) {
    const FloatTag d;
    if (tile.columns(row).size() == 0) return kNoScore;
    auto maximum = hn::Set(d, kNoScore);
    scale_and_clamp_.apply(tile, head_, row, score_ + row * stride_, nullptr, [&](std::int64_t, auto score) HWY_ATTR {
      maximum = hn::Max(maximum, score);
      return score;
    });
    return hn::GetLane(hn::MaxOfLanes(d, maximum));
  }

  // Computes the weights of the row. Returns their sum before dropout.
  float exponentiate(const RelationTile& tile, std::int64_t row) {
    const FloatTag d;
    const IndexRange columns = tile.columns(row);
    float* weight = score_ + row * stride_;
    const auto base = hn::Set(d, softmax_.base[row]);
    auto total = hn::Zero(d);
    for_vectors(columns, [&](std::int64_t column) HWY_ATTR {
      const auto w = exp_lanes(hn::Sub(hn::Load(d, weight + column), base));
      total = hn::Add(total, w);
      hn::Store(w, d, weight + column);
    });
    if (dropout_.is_active())
      apply_dropout(columns, dropout_.factors(row), weight, saved_ == nullptr ? nullptr : saved_ + row * stride_);
    clear_outside(columns, stride_, weight);
    return hn::GetLane(hn::SumOfLanes(d, total));
  }

  static void apply_dropout(IndexRange columns, const float* factor, float* weight, float* saved) {
    const FloatTag d;
    for_vectors(columns, [&](std::int64_t column) HWY_ATTR {
      const auto w = hn::Load(d, weight + column);
      if (saved != nullptr) hn::Store(w, d, saved + column);
      hn::Store(hn::Mul(w, hn::LoadU(d, factor + column)), d, weight + column);
    });
  }

  void sum_values(const RelationTile& tile) {
    const std::int64_t size = padded_size(p_.value_size);
    const PaddedMatrix values =
        load_sources_of_head(tile, p_.value, p_.key_head(head_), p_.key_heads(), p_.value_size, value_);
    if (has_sum_) scale_rows(softmax_.rescale, size, sum_);
    sum_over_sources(tile, score_, stride_, values, size, {sum_, size},
                     has_sum_ ? WriteMode::kAdd : WriteMode::kOverwrite);
    has_sum_ = true;
  }

  void scale_rows(const float* factor, std::int64_t size, float* rows) const {
    const FloatTag d;
    for (std::int64_t row = 0; row < num_rows_; ++row) {
      const auto factors = hn::Set(d, factor[row]);
      for (std::int64_t i = row * size; i < (row + 1) * size; i += kLanes) {
        hn::Store(hn::Mul(factors, hn::Load(d, rows + i)), d, rows + i);
      }
    }
  }

  void store_rows() {
    HWY_ALIGN float log_normalizer[kTileRows];
    HWY_ALIGN float inverse[kTileRows];
    softmax_.finish(num_rows_, log_normalizer, inverse);
    if (!has_sum_) std::fill_n(sum_, num_rows_ * padded_size(p_.value_size), 0.0f);
    const bool is_finite =
        unpack(sum_, rows_of_head(p_.out, block_.row_begin, num_rows_, head_, p_.num_heads, p_.value_size),
               [&](std::int64_t row) { return inverse[row]; });
    is_finite_ = is_finite_ && is_finite;
    if (saved_ != nullptr) scale_rows(inverse, stride_, saved_);
    for (std::int64_t row = 0; row < num_rows_; ++row) {
      p_.log_normalizer[(block_.row_begin + row) * p_.num_heads + head_] = log_normalizer[row];
    }
  }

  const AttentionForward<T>& p_;
  const TilePlan& plan_;
  const RowBlock& block_;
  std::optional<RelationTile> only_tile_;  // for all heads, if the block has one tile
  std::int64_t head_ = 0;
  std::int64_t num_rows_;
  ScaleAndClamp scale_and_clamp_;
  std::optional<TileScore> score_function_;
  TileDropout dropout_;
  SoftmaxState softmax_;
  std::int64_t stride_;  // floats from row to row of score_ and saved_
  bool has_sum_ = false;
  bool is_finite_ = true;
  PaddedMatrix queries_;      // points into query_ or the tensor
  float* query_;              // [R, K]
  float* key_;                // [C, K]
  float* strip_;              // [kLanes, K], for transpose()
  float* key_transposed_;     // [K, C]
  float* value_;              // [C, V]
  float* saved_ = nullptr;    // [R, C], the weights before dropout, or null
  float* product_ = nullptr;  // [R, C], <query, key>: saved products or score_
  float* score_ =
      nullptr;  // [R, C], scores and then weights: saved_ if present and there is no dropout, else score_buffer_
  float* score_buffer_;
  float* sum_;  // [R, V]
};

/// Returns whether all outputs are finite.
bool attend_block(const AnyAttentionForward& any, const TilePlan& plan, const RowBlock& block, HeadRange heads) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  return std::visit(
      [&]<typename T>(const AttentionForward<T>* p) HWY_ATTR {
        BlockForward<T> forward(*p, plan, block, scratch);
        for (std::int64_t head = heads.begin; head < heads.end; ++head) forward.run(head);
        return forward.is_finite();
      },
      any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::cpu {

HWY_EXPORT(attend_block);

template <typename T>
bool tile_attention_forward(const AttentionForward<T>& p, const TilePlan& plan) {
  std::atomic<bool> is_finite = true;
  std::vector<std::int64_t> cost_before = {0};
  for (const RowBlock& block : plan.blocks) cost_before.push_back(cost_before.back() + block.cost);
  parallel_head_ranges(
      std::ssize(plan.blocks), p.heads(), [&](std::int64_t block) { return cost_before[block]; },
      [&](std::int64_t block, HeadRange heads) {
        if (!HWY_DYNAMIC_DISPATCH(attend_block)(&p, plan, plan.blocks[block], heads)) is_finite = false;
      });
  return is_finite;
}

template bool tile_attention_forward(const AttentionForward<float>&, const TilePlan&);
template bool tile_attention_forward(const AttentionForward<BFloat16>&, const TilePlan&);

}  // namespace edgewise::kernels::cpu
#endif  // HWY_ONCE
