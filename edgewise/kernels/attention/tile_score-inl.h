// SPDX-License-Identifier: Apache-2.0
// Score functions of the tile kernels, on some rows of a tile at a time. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_ATTENTION_TILE_SCORE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_ATTENTION_TILE_SCORE_INL_H
#undef EDGEWISE_KERNELS_ATTENTION_TILE_SCORE_INL_H
#else
#define EDGEWISE_KERNELS_ATTENTION_TILE_SCORE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "edgewise/kernels/attention/tile_attention.h"
#include "edgewise/kernels/attention/tile_stages-inl.h"
#include "edgewise/kernels/score/score_numbers.h"
#include "edgewise/kernels/score/score_spans-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Computes sum[i] += from[i] for `count` numbers.
HWY_INLINE void add_to(float* sum, const float* from, std::int64_t count) {
  for_each_vector(count, [&](std::int64_t i, auto lanes)
                             HWY_ATTR { store(lanes, hn::Add(load(lanes, sum + i), load(lanes, from + i)), sum + i); });
}

/// Computes the scores of tiles and the gradients of their score function. A span is the vectors of consecutive rows
/// that hold edges, one row behind the other. Has the functions that ScoreMachine calls.
class TileScore {
 public:
  /// Without `gradients`, the object only computes scores.
  TileScore(const ScoreInputs<float>& score, float scale, std::int64_t num_heads, const TileScoreGradients* gradients)
      : columns_(score.columns),
        scale_(scale),
        num_heads_(num_heads),
        forward_(score.program->forward),
        backward_(score.program->backward),
        gradients_(gradients) {}

  /// Chooses the gradients that differentiate() computes: those of destinations, edges and shared columns, those of
  /// sources, or all of them.
  void select_gradients(bool of_rows, bool of_sources) {
    has_row_gradients_ = of_rows;
    has_source_gradients_ = of_sources;
  }

  /// Replaces <query, key> by scores, at least where the tile has edges. `product` and `score` [R, stride] may be
  /// equal.
  void compute(const RelationTile& tile, std::int64_t first_row, std::int64_t head, const float* product, float* score,
               std::int64_t stride) {
    begin_tile(tile, first_row, head, stride);
    product_ = product;
    for_spans([&] {
      forward_.run(count_, *this);
      const float* from = forward_.result();
      for_parts([&](const Part& part) {
        std::copy_n(from + part.offset, part.end - part.begin, score + part.row * stride_ + part.begin);
      });
    });
  }

  /// Turns gradients of scores into gradients of <query, key>, and adds the gradients of columns. The piece and the
  /// head select the sums of shared columns.
  void differentiate(const RelationTile& tile, std::int64_t first_row, std::int64_t head, const float* product,
                     float* grad, std::int64_t stride, std::int64_t piece) {
    begin_tile(tile, first_row, head, stride);
    product_ = product;
    grad_ = grad;
    piece_ = piece;
    for_spans([&] { backward_.run(count_, *this); });
  }

  HWY_INLINE void load_product(float* to) const {
    const FloatTag d;
    const auto scale = hn::Set(d, scale_);
    for_part_vectors([&](const Part& part, std::int64_t column, std::int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(scale, hn::LoadU(d, product_ + part.row * stride_ + column)), d, to + i);
    });
  }

  HWY_INLINE void load_gradient(float* to) const {
    for_parts([&](const Part& part) {
      std::copy_n(grad_ + part.row * stride_ + part.begin, part.end - part.begin, to + part.offset);
    });
  }

  HWY_INLINE void load_column(std::int32_t column_index, float* to) const {
    const FloatTag d;
    const ScoreColumn<float>& c = columns_[column_index];
    const float* from = c.of_head(head_);
    switch (c.domain) {
      case ScoreDomain::kEdges:
        std::fill_n(to, count_, 0.0f);
        for_part_edges([&](std::int64_t i, EdgeIndex edge, std::int64_t) { to[i] = from[edge * c.stride]; });
        break;
      case ScoreDomain::kSources:
        for_part_vectors([&](const Part&, std::int64_t column, std::int64_t i)
                             HWY_ATTR { hn::StoreU(hn::LoadU(d, from + source_of(column)), d, to + i); });
        break;
      case ScoreDomain::kDestinations:
        for_parts([&](const Part& part) {
          std::fill_n(to + part.offset, part.end - part.begin, from[first_row_ + part.row]);
        });
        break;
      default:
        for_part_vectors([&](const Part& part, std::int64_t column, std::int64_t i) HWY_ATTR {
          hn::StoreU(hn::LoadU(d, from + (source_of(column) - first_row_ - part.row - c.first)), d, to + i);
        });
        break;
    }
  }

  const float* table(std::int32_t column) const { return columns_[column].of_head(head_); }
  std::int64_t table_size(std::int32_t column) const { return columns_[column].size; }

  HWY_INLINE void store(std::int32_t column_index, const float* gradient) const {
    if (column_index == kProductColumn) return store_products(gradient);
    const ScoreColumn<float>& c = columns_[column_index];
    if (c.grad == nullptr) return;
    if (c.domain == ScoreDomain::kSources) {
      if (has_source_gradients_) add_at_sources(gradient, c.grad + head_ * c.size, 0);
      return;
    }
    if (!has_row_gradients_) return;
    switch (c.domain) {
      case ScoreDomain::kEdges:
        store_at_edges(gradient, c);
        break;
      case ScoreDomain::kDestinations:
        for_parts([&](const Part& part)
                      HWY_ATTR { c.grad[head_ * c.size + first_row_ + part.row] += sum_of_edges(part, gradient); });
        break;
      default:
        add_at_sources(gradient, shared(column_index), 1, c.first);
        break;
    }
  }

  HWY_INLINE void store_looked_up(std::int32_t column_index, const float* index, const float* gradient) const {
    const ScoreColumn<float>& c = columns_[column_index];
    if (c.grad == nullptr || !has_row_gradients_) return;
    float* to = shared(column_index);
    for_part_edges([&](std::int64_t i, EdgeIndex, std::int64_t) { to[lookup_index(index[i], c.size)] += gradient[i]; });
  }

 private:
  // The columns [begin, end) of a row, whole vectors, which are the numbers from `offset` on of a span.
  struct Part {
    std::int64_t row;
    std::int64_t begin;
    std::int64_t end;
    std::int64_t offset;
  };

  void begin_tile(const RelationTile& tile, std::int64_t first_row, std::int64_t head, std::int64_t stride) {
    tile_ = &tile;
    first_row_ = first_row;
    head_ = head;
    stride_ = stride;
    tile.for_spans([&](const SourceSpan& span) {
      for (std::int64_t i = 0; i < span.count; i += kGroupSources) {
        group_source_[(span.column + i) / kGroupSources] = span.source + i;
      }
    });
  }

  // Calls fn() for each span of the tile.
  template <class Fn>
  void for_spans(Fn fn) {
    num_parts_ = 0;
    count_ = 0;
    for (std::int64_t row = 0; row < tile_->num_rows(); ++row) {
      const IndexRange columns = tile_->columns(row);
      if (columns.size() == 0) continue;
      const IndexRange whole = round_out(columns);
      if (count_ + whole.size() > kScoreSpan) {
        fn();
        num_parts_ = 0;
        count_ = 0;
      }
      parts_[num_parts_++] = {row, whole.begin, whole.end, count_};
      count_ += whole.size();
    }
    if (num_parts_ > 0) fn();
  }

  template <class Fn>
  HWY_INLINE void for_parts(Fn fn) const {
    for (std::int64_t i = 0; i < num_parts_; ++i) fn(parts_[i]);
  }

  // Calls fn(part, first column, number of the span) for each vector of the span.
  template <class Fn>
  HWY_INLINE void for_part_vectors(Fn fn) const {
    for (std::int64_t p = 0; p < num_parts_; ++p) {
      const Part& part = parts_[p];
      std::int64_t i = part.offset;
      for (std::int64_t column = part.begin; column < part.end; column += kLanes, i += kLanes) fn(part, column, i);
    }
  }

  // Calls fn(number of the span, edge, column) for each edge of the span.
  template <class Fn>
  HWY_INLINE void for_part_edges(Fn fn) const {
    for (std::int64_t p = 0; p < num_parts_; ++p) {
      const Part& part = parts_[p];
      const EdgeIndex first_edge = tile_->first_edge(part.row);
      tile_->for_edges(part.row, [&](std::int64_t i, std::int64_t column) {
        fn(part.offset + column - part.begin, first_edge + i, column);
      });
    }
  }

  std::int64_t source_of(std::int64_t column) const {
    return group_source_[column / kGroupSources] + column % kGroupSources;
  }

  float* shared(std::int32_t column) const {
    return gradients_->shared->of(piece_, head_ - gradients_->first_head, column);
  }

  HWY_INLINE void store_products(const float* gradient) const {
    const FloatTag d;
    const auto scale = hn::Set(d, scale_);
    for (std::int64_t p = 0; p < num_parts_; ++p) {
      const Part& part = parts_[p];
      const float* from = gradient + part.offset - part.begin;
      float* to = grad_ + part.row * stride_;
      for_edge_vectors(*tile_, part.row, [&](std::int64_t column, auto is_edge) HWY_ATTR {
        hn::Store(hn::IfThenElseZero(is_edge, hn::Mul(scale, hn::LoadU(d, from + column))), d, to + column);
      });
    }
  }

  void store_at_edges(const float* gradient, const ScoreColumn<float>& c) const {
    if (c.head_stride == 0) {
      const bool is_first = head_ == gradients_->first_head;
      for_part_edges([&](std::int64_t i, EdgeIndex edge, std::int64_t) {
        c.grad[edge] = is_first ? gradient[i] : c.grad[edge] + gradient[i];
      });
    } else {
      float* to = c.grad + head_;
      for_part_edges([&](std::int64_t i, EdgeIndex edge, std::int64_t) { to[edge * num_heads_] = gradient[i]; });
    }
  }

  HWY_INLINE float sum_of_edges(const Part& part, const float* gradient) const {
    const FloatTag d;
    const float* from = gradient + part.offset - part.begin;
    auto sum = hn::Zero(d);
    for_edge_vectors(*tile_, part.row, [&](std::int64_t column, auto is_edge) HWY_ATTR {
      sum = hn::Add(sum, hn::IfThenElseZero(is_edge, hn::LoadU(d, from + column)));
    });
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  // Adds the gradient of each edge to number source - row_factor * row - first.
  HWY_INLINE void add_at_sources(const float* gradient, float* to, std::int64_t row_factor,
                                 std::int64_t first = 0) const {
    if (!tile_->has_contiguous_rows()) {
      for (std::int64_t p = 0; p < num_parts_; ++p) {
        const Part& part = parts_[p];
        const std::int64_t offset = row_factor * (first_row_ + part.row) + first;
        tile_->for_edges(part.row, [&](std::int64_t, std::int64_t column) {
          to[source_of(column) - offset] += gradient[part.offset + column - part.begin];
        });
      }
      return;
    }
    for (std::int64_t p = 0; p < num_parts_; ++p) {
      const Part& part = parts_[p];
      const IndexRange columns = tile_->columns(part.row);
      const float* from = gradient + part.offset - part.begin + columns.begin;
      float* sum = to + (source_of(columns.begin) - row_factor * (first_row_ + part.row) - first);
      add_to(sum, from, columns.size());
    }
  }

  const std::vector<ScoreColumn<float>>& columns_;
  float scale_;
  std::int64_t num_heads_;
  ScoreMachine forward_;
  ScoreMachine backward_;
  const TileScoreGradients* gradients_;
  bool has_row_gradients_ = true;
  bool has_source_gradients_ = true;
  // The current tile.
  const RelationTile* tile_ = nullptr;
  std::int64_t first_row_ = 0;
  std::int64_t head_ = 0;
  std::int64_t stride_ = 0;
  const float* product_ = nullptr;
  float* grad_ = nullptr;
  std::int64_t piece_ = 0;
  std::array<std::int64_t, kTileSources / kGroupSources> group_source_;  // by group of columns: its first source
  // The current span.
  std::array<Part, kTileRows> parts_;
  std::int64_t num_parts_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_ATTENTION_TILE_SCORE_INL_H
