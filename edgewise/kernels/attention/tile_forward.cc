// SPDX-License-Identifier: Apache-2.0
// D = destinations, S = sources, H = heads, K = head size, V = value size; a tile is R rows by C columns.
#include <cmath>
#include <optional>

#include "edgewise/kernels/attention/tile_attention.h"
#include "edgewise/kernels/attention/tile_work.h"
#include "edgewise/kernels/attention/work.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/tile_forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/attention/tile_stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

// Softmax over the tiles of a block one after another: a new maximum shrinks what is already summed.
struct SoftmaxState {
  HWY_ALIGN float maximum[kTileRows];
  HWY_ALIGN float base[kTileRows];  // what exp() is taken above: the maximum, or 0 where there is no score
  HWY_ALIGN float total[kTileRows];
  HWY_ALIGN float shrink[kTileRows];

  void begin() {
    std::fill_n(maximum, kTileRows, kNoScore);
    std::fill_n(total, kTileRows, 0.0f);
  }

  /// Takes the maxima of the next tile into those so far.
  void raise(const float* tile_maximum, std::int64_t rows) {
    const FloatTag d;
    const auto no_score = hn::Set(d, kNoScore);
    for_vectors({0, rows}, [&](std::int64_t row) HWY_ATTR {
      const auto before = hn::Load(d, maximum + row);
      const auto after = hn::Max(before, hn::Load(d, tile_maximum + row));
      const auto above = hn::IfThenZeroElse(hn::Eq(after, no_score), after);
      const auto factor = exp_lanes(hn::Sub(before, above));
      hn::Store(after, d, maximum + row);
      hn::Store(above, d, base + row);
      hn::Store(factor, d, shrink + row);
      hn::Store(hn::Mul(factor, hn::Load(d, total + row)), d, total + row);
    });
  }

  /// log(sum of exp(score)) of each row, and by what to divide its sum of values.
  void finish(std::int64_t rows, float* log_normalizer, float* inverse) const {
    const FloatTag d;
    const auto zero = hn::Zero(d);
    for_vectors({0, rows}, [&](std::int64_t row) HWY_ATTR {
      const auto sum = hn::Load(d, total + row);
      const auto is_zero = hn::Eq(sum, zero);
      const auto is_nan = hn::IsNaN(sum);
      const auto normalizer = hn::Add(hn::Load(d, maximum + row), log_lanes(sum));
      const auto or_nan = hn::IfThenElse(is_nan, sum, normalizer);
      hn::Store(hn::IfThenElse(is_zero, hn::Set(d, kNoScore), or_nan), d, log_normalizer + row);
      hn::Store(hn::IfThenZeroElse(is_zero, hn::Div(hn::Set(d, 1.0f), sum)), d, inverse + row);
    });
  }
};

template <typename T>
class BlockForward {
 public:
  BlockForward(const AttentionForward<T>& p, const TilePlan& plan, const RowBlock& block, Scratch& scratch)
      : p_(p),
        plan_(plan),
        block_(block),
        num_rows_(block.row_end - block.row_begin),
        score_rule_(p),
        dropout_(p, scratch) {
    const std::int64_t num_sources = block.sources.end - block.sources.begin;
    const std::int64_t columns = std::min<std::int64_t>(kTileSources, num_sources);
    if (num_sources <= kTileSources) only_tile_.emplace(p.relation, plan, block, block.sources);
    stride_ = padded(columns);
    query_ = take_matrix(scratch, num_rows_, p.head_size);
    key_ = take_matrix(scratch, columns, p.head_size);
    strip_ = take_matrix(scratch, kLanes, p.head_size);
    key_transposed_ = take_matrix(scratch, stride_, p.head_size);
    value_ = take_matrix(scratch, columns, p.value_size);
    score_room_ = take_matrix(scratch, num_rows_, columns);
    sum_ = take_matrix(scratch, num_rows_, p.value_size);
  }

  void run(std::int64_t head) {
    head_ = head;
    kept_ = kept_weights(p_, plan_, block_, head);
    score_ = kept_ != nullptr && !dropout_.drops() ? kept_ : score_room_;
    has_sum_ = false;
    queries_ = as_matrix(rows_of_head(p_.query, block_.row_begin, num_rows_, head, p_.num_heads, p_.head_size), query_);
    softmax_.begin();
    if (only_tile_) {
      attend(*only_tile_);
    } else {
      for_tiles_of(plan_, block_, [&](Interval sources) { attend(Tile(p_.relation, plan_, block_, sources)); });
    }
    store_rows();
  }

 private:
  void attend(const Tile& tile) {
    if (tile.is_empty()) return;
    multiply_queries_and_keys(tile);
    turn_into_weights(tile);
    sum_values(tile);
  }

  void multiply_queries_and_keys(const Tile& tile) {
    const std::int64_t depth = padded(p_.head_size);
    const Matrix keys = rows_of_sources(tile, p_.key, head_, p_.num_heads, p_.head_size, key_);
    const Panels panels = transpose(keys, tile.num_columns(), depth, strip_, key_transposed_);
    multiply_at_edges(tile, {queries_.data, queries_.stride, 1}, panels, {score_, stride_});
  }

  void turn_into_weights(const Tile& tile) {
    HWY_ALIGN float maximum[kTileRows];
    for (std::int64_t row = 0; row < num_rows_; ++row) maximum[row] = finish_scores(tile, row);
    softmax_.raise(maximum, num_rows_);
    dropout_.draw(tile, head_);
    for (std::int64_t row = 0; row < num_rows_; ++row) softmax_.total[row] += weigh(tile, row);
  }

  // Returns the largest score of the row.
  float finish_scores(const Tile& tile, std::int64_t row) {
    const FloatTag d;
    if (tile.columns(row).size() == 0) return kNoScore;
    auto maximum = hn::Set(d, kNoScore);
    score_rule_.apply(tile, head_, row, score_ + row * stride_, nullptr, [&](std::int64_t, auto score) HWY_ATTR {
      maximum = hn::Max(maximum, score);
      return score;
    });
    return hn::GetLane(hn::MaxOfLanes(d, maximum));
  }

  // Returns what the weights of the row add to its total; dropout comes after that.
  float weigh(const Tile& tile, std::int64_t row) {
    const FloatTag d;
    const Range seen = tile.columns(row);
    float* weight = score_ + row * stride_;
    const auto base = hn::Set(d, softmax_.base[row]);
    auto total = hn::Zero(d);
    for_vectors(seen, [&](std::int64_t column) HWY_ATTR {
      const auto w = exp_lanes(hn::Sub(hn::Load(d, weight + column), base));
      total = hn::Add(total, w);
      hn::Store(w, d, weight + column);
    });
    if (dropout_.drops()) drop(seen, dropout_.of_row(row), weight, kept_ == nullptr ? nullptr : kept_ + row * stride_);
    clear_unseen(seen, stride_, weight);
    return hn::GetLane(hn::SumOfLanes(d, total));
  }

  static void drop(Range seen, const float* factor, float* weight, float* kept) {
    const FloatTag d;
    for_vectors(seen, [&](std::int64_t column) HWY_ATTR {
      const auto w = hn::Load(d, weight + column);
      if (kept != nullptr) hn::Store(w, d, kept + column);
      hn::Store(hn::Mul(w, hn::LoadU(d, factor + column)), d, weight + column);
    });
  }

  void sum_values(const Tile& tile) {
    const std::int64_t size = padded(p_.value_size);
    const Matrix values = rows_of_sources(tile, p_.value, head_, p_.num_heads, p_.value_size, value_);
    if (has_sum_) scale_rows(softmax_.shrink, size, sum_);
    sum_over_sources(tile, score_, stride_, values, size, {sum_, size}, has_sum_ ? Into::kAdd : Into::kOverwrite);
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
    if (!has_sum_) std::fill_n(sum_, num_rows_ * padded(p_.value_size), 0.0f);
    unpack(sum_, rows_of_head(p_.out, block_.row_begin, num_rows_, head_, p_.num_heads, p_.value_size),
           [&](std::int64_t row) { return inverse[row]; });
    if (kept_ != nullptr) scale_rows(inverse, stride_, kept_);
    for (std::int64_t row = 0; row < num_rows_; ++row) {
      p_.log_normalizer[(block_.row_begin + row) * p_.num_heads + head_] = log_normalizer[row];
    }
  }

  const AttentionForward<T>& p_;
  const TilePlan& plan_;
  const RowBlock& block_;
  std::optional<Tile> only_tile_;  // of the block, which has it for all heads
  std::int64_t head_ = 0;
  std::int64_t num_rows_;
  ScoreRule score_rule_;
  TileDropout dropout_;
  SoftmaxState softmax_;
  std::int64_t stride_;  // of score_
  bool has_sum_ = false;
  Matrix queries_;          // query_, or the tensor itself
  float* query_;            // [R, K]
  float* key_;              // [C, K]
  float* strip_;            // of the transposition
  float* key_transposed_;   // [K, C]
  float* value_;            // [C, V]
  float* kept_ = nullptr;   // [R, C], the weights before dropout, or null
  float* score_ = nullptr;  // [R, C], then the weights: score_room_, or kept_ where nothing drops
  float* score_room_;
  float* sum_;  // [R, V]
};

template <typename T>
void attend_block(const AttentionForward<T>& p, const TilePlan& plan, const RowBlock& block, HeadRange heads) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  BlockForward<T> forward(p, plan, block, scratch);
  for (std::int64_t head = heads.begin; head < heads.end; ++head) forward.run(head);
}

void attend_block_float(const AttentionForward<float>& p, const TilePlan& plan, const RowBlock& block,
                        HeadRange heads) {
  attend_block(p, plan, block, heads);
}
void attend_block_bfloat16(const AttentionForward<BFloat16>& p, const TilePlan& plan, const RowBlock& block,
                           HeadRange heads) {
  attend_block(p, plan, block, heads);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(attend_block_float);
HWY_EXPORT(attend_block_bfloat16);

namespace {

void attend_block_here(const AttentionForward<float>& p, const TilePlan& plan, const RowBlock& block, HeadRange heads) {
  HWY_DYNAMIC_DISPATCH(attend_block_float)(p, plan, block, heads);
}
void attend_block_here(const AttentionForward<BFloat16>& p, const TilePlan& plan, const RowBlock& block,
                       HeadRange heads) {
  HWY_DYNAMIC_DISPATCH(attend_block_bfloat16)(p, plan, block, heads);
}

}  // namespace

namespace cpu {

template <typename T>
void tile_attention_forward(const AttentionForward<T>& p, const TilePlan& plan) {
  std::vector<std::int64_t> cost_before = {0};
  for (const RowBlock& block : plan.blocks) cost_before.push_back(cost_before.back() + block.cost);
  parallel_head_ranges(
      std::ssize(plan.blocks), p.heads(), [&](std::int64_t block) { return cost_before[block]; },
      [&](std::int64_t block, HeadRange heads) { attend_block_here(p, plan, plan.blocks[block], heads); });
}

template void tile_attention_forward(const AttentionForward<float>&, const TilePlan&);
template void tile_attention_forward(const AttentionForward<BFloat16>&, const TilePlan&);

}  // namespace cpu
}  // namespace edgewise::kernels
#endif  // HWY_ONCE
