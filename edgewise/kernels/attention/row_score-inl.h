// SPDX-License-Identifier: Apache-2.0
// Score functions of the row kernels, on one row at a time. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_ATTENTION_ROW_SCORE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_ATTENTION_ROW_SCORE_INL_H
#undef EDGEWISE_KERNELS_ATTENTION_ROW_SCORE_INL_H
#else
#define EDGEWISE_KERNELS_ATTENTION_ROW_SCORE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "edgewise/kernels/attention/row_task.h"
#include "edgewise/kernels/score/score_numbers.h"
#include "edgewise/kernels/score/score_spans-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Computes the scores of a row and the gradients of its score function, span by span. Has the functions that
/// ScoreMachine calls.
class RowScore {
 public:
  explicit RowScore(const RowTask& task)
      : task_(task),
        columns_(task.score->columns),
        forward_(task.score->program->forward),
        backward_(task.score->program->backward) {}

  /// Writes the scores of the row's edges, from their scaled products.
  HWY_INLINE void compute(std::int64_t row, EdgeIndex first_edge, const NodeIndex* sources, std::int64_t count,
                          const float* product, float* score) {
    row_ = row;
    row_first_edge_ = first_edge;
    row_sources_ = sources;
    row_count_ = count;
    for (std::int64_t begin = 0; begin < count; begin += kScoreSpan) {
      move_to(begin);
      product_ = product + begin;
      forward_.run(padded_size(count_), *this);
      std::copy_n(forward_.result(), count_, score + begin);
    }
  }

  /// Writes the gradients of the scaled products, after compute() of the row, and adds the gradients of columns.
  HWY_INLINE void differentiate(const float* product, const float* grad_score, const RowScoreGradients& gradients,
                                std::int64_t piece, float* grad_product) {
    gradients_ = &gradients;
    piece_ = piece;
    for (std::int64_t begin = 0; begin < row_count_; begin += kScoreSpan) {
      move_to(begin);
      product_ = product + begin;
      grad_score_ = grad_score + begin;
      grad_product_ = grad_product + begin;
      backward_.run(padded_size(count_), *this);
    }
  }

  HWY_INLINE void load_product(float* to) const { copy(product_, to); }
  HWY_INLINE void load_gradient(float* to) const { copy(grad_score_, to); }

  HWY_INLINE void load_column(std::int32_t column, float* to) const {
    const ScoreColumn<float>& c = columns_[column];
    const float* from = c.of_head(task_.head);
    switch (c.domain) {
      case ScoreDomain::kEdges:
        from += first_edge_ * c.stride;
        for (std::int64_t i = 0; i < count_; ++i) to[i] = from[i * c.stride];
        break;
      case ScoreDomain::kSources:
        for (std::int64_t i = 0; i < count_; ++i) to[i] = from[sources_[i]];
        break;
      case ScoreDomain::kDestinations:
        std::fill_n(to, count_, from[row_]);
        break;
      default:
        for (std::int64_t i = 0; i < count_; ++i) to[i] = from[sources_[i] - row_ - c.first];
        break;
    }
    clear_tail(to);
  }

  const float* table(std::int32_t column) const { return columns_[column].of_head(task_.head); }
  std::int64_t table_size(std::int32_t column) const { return columns_[column].size; }

  HWY_INLINE void store(std::int32_t column, float* gradient) const {
    if (column == kProductColumn) {
      std::copy_n(gradient, count_, grad_product_);
      return;
    }
    const ScoreColumn<float>& c = columns_[column];
    if (c.grad == nullptr) return;
    float* to;
    switch (c.domain) {
      case ScoreDomain::kEdges: {
        const bool sums_heads = c.head_stride == 0;
        const std::int64_t stride = sums_heads ? 1 : task_.num_heads;
        to = c.grad + first_edge_ * stride + (sums_heads ? 0 : task_.head);
        if (sums_heads && !task_.is_first_head) {
          for (std::int64_t i = 0; i < count_; ++i) to[i] += gradient[i];
        } else {
          for (std::int64_t i = 0; i < count_; ++i) to[i * stride] = gradient[i];
        }
        break;
      }
      case ScoreDomain::kSources:
        std::copy_n(gradient, count_, gradients_->of_sources[column] + first_edge_);
        break;
      case ScoreDomain::kDestinations:
        clear_tail(gradient);
        c.grad[task_.head * c.size + row_] += sum(gradient);
        break;
      default:
        to = gradients_->shared->of(piece_, /*head=*/0, column);
        for (std::int64_t i = 0; i < count_; ++i) to[sources_[i] - row_ - c.first] += gradient[i];
        break;
    }
  }

  HWY_INLINE void store_looked_up(std::int32_t column, const float* index, const float* gradient) const {
    const ScoreColumn<float>& c = columns_[column];
    if (c.grad == nullptr) return;
    float* to = gradients_->shared->of(piece_, /*head=*/0, column);
    for (std::int64_t i = 0; i < count_; ++i) to[lookup_index(index[i], c.size)] += gradient[i];
  }

 private:
  void move_to(std::int64_t begin) {
    first_edge_ = row_first_edge_ + begin;
    sources_ = row_sources_ + begin;
    count_ = std::min(kScoreSpan, row_count_ - begin);
  }

  void copy(const float* from, float* to) const {
    std::copy_n(from, count_, to);
    clear_tail(to);
  }

  void clear_tail(float* to) const { std::fill(to + count_, to + padded_size(count_), 0.0f); }

  HWY_INLINE float sum(const float* from) const {
    const FloatTag d;
    auto sums = hn::Zero(d);
    for (std::int64_t i = 0; i < count_; i += kLanes) sums = hn::Add(sums, hn::LoadU(d, from + i));
    return hn::GetLane(hn::SumOfLanes(d, sums));
  }

  const RowTask& task_;
  const std::vector<ScoreColumn<float>>& columns_;
  ScoreMachine forward_;
  ScoreMachine backward_;
  std::int64_t row_ = 0;
  EdgeIndex row_first_edge_ = 0;
  const NodeIndex* row_sources_ = nullptr;
  std::int64_t row_count_ = 0;
  // The current span.
  EdgeIndex first_edge_ = 0;
  const NodeIndex* sources_ = nullptr;
  std::int64_t count_ = 0;
  const float* product_ = nullptr;
  const float* grad_score_ = nullptr;
  float* grad_product_ = nullptr;
  const RowScoreGradients* gradients_ = nullptr;
  std::int64_t piece_ = 0;
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_ATTENTION_ROW_SCORE_INL_H
