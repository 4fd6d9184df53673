// SPDX-License-Identifier: Apache-2.0
// A row of edges and its numbers, which lie one after the other. Included once for each instruction set.
#if defined(EDGEWISE_KERNELS_CPU_ROW_EDGES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_ROW_EDGES_INL_H
#undef EDGEWISE_KERNELS_CPU_ROW_EDGES_INL_H
#else
#define EDGEWISE_KERNELS_CPU_ROW_EDGES_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/attention/row_loops-inl.h"
#include "edgewise/kernels/attention/row_softmax-inl.h"
#include "edgewise/kernels/attention/row_task.h"
#include "edgewise/kernels/simd/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The edges of one row after another, and memory of this thread for their numbers.
class RowOfEdges {
 public:
  explicit RowOfEdges(const RowTask& task)
      : task_(task),
        factors_of_(task.dropout),
        query_(room(in_whole_vectors(task.query.size))),
        score_(room_of_edges()),
        bias_(room_of_edges()),
        factor_room_(room_of_edges()),
        sources_(task.relation.intervals == nullptr ? 0 : task.longest_row) {}

  /// Uninitialised, for one number of each edge.
  float* room_of_edges() const {
    return room(in_whole_vectors(task_.longest_row) + static_cast<std::int64_t>(kDropoutFactorsSlack));
  }
  static float* room(std::int64_t size) { return Scratch::of_this_thread().take(static_cast<std::size_t>(size)); }

  void go_to(std::int64_t row) {
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

  GatheredRows keys() const { return gathered(task_.keys_and_values.data); }
  GatheredRows values() const { return gathered(task_.keys_and_values.data + task_.keys_and_values.first_size); }

  /// The scores of all edges; behind them, up to whole vectors, -inf. Where `slope` is not null, it becomes what a
  /// score's gradient is multiplied by for the products that made it: the scale, or 0 where the clamp holds the score.
  HWY_INLINE float* scores(float* slope) {
    dot_rows(query_, task_.keys_and_values.first_size, keys(), score_);
    const FloatTag d;
    const auto scale = hn::Set(d, task_.scale);
    const auto bound = hn::Set(d, task_.clamp);
    const float* bias = edge_bias();
    for (std::int64_t i = 0; i < count_; i += kRowLanes) {
      const auto scaled = hn::Mul(scale, hn::LoadU(d, score_ + i));
      const auto is_bounded = hn::Gt(hn::Abs(scaled), bound);
      const auto clamped = hn::IfThenElse(is_bounded, hn::CopySign(bound, scaled), scaled);
      hn::StoreU(bias == nullptr ? clamped : hn::Add(clamped, hn::LoadU(d, bias + i)), d, score_ + i);
      if (slope != nullptr) hn::StoreU(hn::IfThenZeroElse(is_bounded, scale), d, slope + i);
    }
    std::fill(score_ + count_, score_ + in_whole_vectors(count_), kMinusInfinity);
    return score_;
  }

  /// The factors of dropout, or null where nothing is dropped.
  HWY_INLINE const float* factors() const {
    if (task_.dropout.rate == 0.0) return nullptr;
    const EdgeIndex first_quad = first_edge_ / 4;
    const std::int64_t skipped = first_edge_ % 4;
    factors_of_.of_blocks(static_cast<std::uint64_t>(first_quad * task_.num_heads + task_.head),
                          static_cast<std::uint64_t>(task_.num_heads), (skipped + count_ + 3) / 4, factor_room_);
    return factor_room_ + skipped;
  }

 private:
  GatheredRows gathered(const float* data) const {
    const NodeIndex* sources = task_.relation.intervals == nullptr ? task_.relation.sources + first_edge_  //
                                                                   : sources_.data();
    return {data, task_.keys_and_values.stride(), sources, count_};
  }

  const float* edge_bias() const {
    if (task_.edge_bias == nullptr) return nullptr;
    for (std::int64_t i = 0; i < count_; ++i) bias_[i] = task_.edge_bias[(first_edge_ + i) * task_.num_heads];
    return bias_;
  }

  const RowTask& task_;
  DropoutFactors factors_of_;
  float* query_;
  float* score_;
  float* bias_;
  float* factor_room_;
  std::vector<NodeIndex> sources_;  // of the row, where the relation has intervals
  EdgeIndex first_edge_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_ROW_EDGES_INL_H
