// SPDX-License-Identifier: Apache-2.0
// The scores and dropout factors of one row of edges, as contiguous floats. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_ATTENTION_ROW_EDGES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_ATTENTION_ROW_EDGES_INL_H
#undef EDGEWISE_KERNELS_ATTENTION_ROW_EDGES_INL_H
#else
#define EDGEWISE_KERNELS_ATTENTION_ROW_EDGES_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "edgewise/kernels/attention/row_loops-inl.h"
#include "edgewise/kernels/attention/row_task.h"
#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/simd/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The edges of the current row, with buffers from this thread's Scratch for one float per edge.
class EdgeRow {
 public:
  explicit EdgeRow(const RowTask& task)
      : task_(task),
        dropout_factors_(task.dropout),
        query_(take_buffer(padded_size(task.query.size))),
        score_(take_edge_buffer()),
        bias_(take_edge_buffer()),
        factor_(take_edge_buffer()),
        sources_(task.relation.intervals == nullptr ? 0 : task.longest_row) {}

  /// Returns an uninitialised buffer that holds one number for each edge of the longest row.
  float* take_edge_buffer() const {
    return take_buffer(padded_size(task_.longest_row) + static_cast<std::int64_t>(kDropoutFactorsSlack));
  }
  static float* take_buffer(std::int64_t size) {
    return Scratch::of_this_thread().take(static_cast<std::size_t>(size));
  }

  void move_to(std::int64_t row) {
    first_edge_ = task_.relation.row_begin[row];
    count_ = task_.relation.row_begin[row + 1] - first_edge_;
    load_row(task_.query, row, query_);
    if (task_.relation.intervals != nullptr) {
      std::iota(sources_.begin(), sources_.begin() + count_, task_.relation.intervals[row].begin);
    }
  }

  EdgeIndex first_edge() const { return first_edge_; }
  std::int64_t count() const { return count_; }
  const float* query() const { return query_; }

  GatheredRows keys() const { return table_rows(task_.keys_and_values.data); }
  GatheredRows values() const { return table_rows(task_.keys_and_values.data + task_.keys_and_values.first_size); }

  /// Returns the scores of all edges, followed by -inf up to whole vectors. Sets slope[i], unless `slope` is null, to
  /// the derivative of score i by <query, key>: the scale, or 0 where the clamp bounds the score.
  HWY_INLINE float* compute_scores(float* slope) {
    dot_rows(query_, task_.keys_and_values.first_size, keys(), score_);
    const FloatTag d;
    const auto scale = hn::Set(d, task_.scale);
    const auto bound = hn::Set(d, task_.clamp);
    const float* bias = gather_edge_bias();
    for (std::int64_t i = 0; i < count_; i += kLanes) {
      const auto scaled = hn::Mul(scale, hn::LoadU(d, score_ + i));
      const auto is_clamped = hn::Gt(hn::Abs(scaled), bound);
      const auto clamped = hn::IfThenElse(is_clamped, hn::CopySign(bound, scaled), scaled);
      hn::StoreU(bias == nullptr ? clamped : hn::Add(clamped, hn::LoadU(d, bias + i)), d, score_ + i);
      if (slope != nullptr) hn::StoreU(hn::IfThenZeroElse(is_clamped, scale), d, slope + i);
    }
    std::fill(score_ + count_, score_ + padded_size(count_), kMinusInfinity);
    return score_;
  }

  /// Returns the dropout factors of the row's edges, or null if the dropout rate is 0.
  HWY_INLINE const float* draw_dropout_factors() const {
    if (task_.dropout.rate == 0.0) return nullptr;
    const EdgeIndex first_block = first_edge_ / 4;
    const std::int64_t skipped = first_edge_ % 4;
    dropout_factors_.fill_blocks(static_cast<std::uint64_t>(first_block * task_.num_heads + task_.head),
                                 static_cast<std::uint64_t>(task_.num_heads), (skipped + count_ + 3) / 4, factor_);
    return factor_ + skipped;
  }

 private:
  GatheredRows table_rows(const float* data) const {
    const bool is_csr = task_.relation.intervals == nullptr;
    const NodeIndex* sources = is_csr ? task_.relation.sources + first_edge_ : sources_.data();
    return {data, task_.keys_and_values.stride(), sources, count_};
  }

  const float* gather_edge_bias() const {
    if (task_.edge_bias == nullptr) return nullptr;
    for (std::int64_t i = 0; i < count_; ++i) bias_[i] = task_.edge_bias[(first_edge_ + i) * task_.num_heads];
    return bias_;
  }

  const RowTask& task_;
  DropoutFactors dropout_factors_;
  float* query_;
  float* score_;
  float* bias_;
  float* factor_;
  std::vector<NodeIndex> sources_;  // the row's sources, if the relation has intervals
  EdgeIndex first_edge_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_ATTENTION_ROW_EDGES_INL_H
