// SPDX-License-Identifier: Apache-2.0
// The loops of the row kernels over memory, the softmax of a row, and its scores and dropout factors as contiguous
// floats. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_ATTENTION_ROW_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_ATTENTION_ROW_LOOPS_INL_H
#undef EDGEWISE_KERNELS_ATTENTION_ROW_LOOPS_INL_H
#else
#define EDGEWISE_KERNELS_ATTENTION_ROW_LOOPS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <variant>
#include <vector>

#include "edgewise/kernels/attention/row_score-inl.h"
#include "edgewise/kernels/attention/row_task.h"
#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Copies a row as floats to `to`, followed by zeros up to whole vectors.
HWY_INLINE void load_row(const HeadRows<ConstElements>& rows, std::int64_t row, float* to) {
  std::visit(
      [&](const auto* data) HWY_ATTR {
        const auto* from = data + rows.offset(row);
        for_each_vector(rows.size, [&](std::int64_t i, auto part)
                                       HWY_ATTR { hn::StoreU(load(part, from + i), FloatTag(), to + i); });
      },
      rows.data);
}

/// Writes factor * from, rounded to the type of the rows, to row `row`.
HWY_INLINE void store_row(const float* from, float factor, const HeadRows<Elements>& rows, std::int64_t row) {
  const auto factors = hn::Set(FloatTag(), factor);
  std::visit(
      [&](auto* data) HWY_ATTR {
        auto* to = data + rows.offset(row);
        for_each_vector(rows.size, [&](std::int64_t i, auto part) HWY_ATTR {
          store(part, hn::Mul(factors, hn::LoadU(FloatTag(), from + i)), to + i);
        });
      },
      rows.data);
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void store_sums(Floats a, Floats b, Floats c, Floats d, float* out) {
  out[0] = hn::GetLane(a);
  out[1] = hn::GetLane(b);
  out[2] = hn::GetLane(c);
  out[3] = hn::GetLane(d);
}

#else

/// Returns the sum of the blocks of four lanes of a vector.
template <class D, class V>
HWY_INLINE hn::Vec<hn::Full128<float> > sum_blocks(D /*d*/, V v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// Writes the sums of the lanes of four vectors to out[0] … out[3].
HWY_INLINE void store_sums(Floats a, Floats b, Floats c, Floats d, float* out) {
  const FloatTag tag;
  const hn::RepartitionToWide<FloatTag> pairs;
  const auto a_b = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b)));
  const auto c_d = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(tag, c, d), hn::InterleaveUpper(tag, c, d)));
  const auto blocks = hn::Add(hn::BitCast(tag, hn::InterleaveLower(pairs, a_b, c_d)),
                              hn::BitCast(tag, hn::InterleaveUpper(pairs, a_b, c_d)));
  hn::StoreU(sum_blocks(tag, blocks), hn::Full128<float>(), out);
}
#endif

/// The rows index[0] … index[count - 1] of a table, from the column where `data` points on.
struct GatheredRows {
  const float* data;
  std::int64_t stride;
  const NodeIndex* index;
  std::int64_t count;

  const float* row(std::int64_t i) const { return data + index[i] * stride; }
};

/// Computes out[i] = <vector, row i> over `size` columns, which must be whole vectors. Writes up to 3 floats more.
HWY_INLINE void dot_rows(const float* vector, std::int64_t size, const GatheredRows& rows, float* out) {
  const FloatTag d;
  for (std::int64_t i = 0; i < rows.count; i += 4) {
    const float* row_0 = rows.row(i);
    const float* row_1 = rows.row(std::min(i + 1, rows.count - 1));
    const float* row_2 = rows.row(std::min(i + 2, rows.count - 1));
    const float* row_3 = rows.row(std::min(i + 3, rows.count - 1));
    auto sum_0 = hn::Zero(d);
    auto sum_1 = hn::Zero(d);
    auto sum_2 = hn::Zero(d);
    auto sum_3 = hn::Zero(d);
    for (std::int64_t k = 0; k < size; k += kLanes) {
      const auto factor = hn::LoadU(d, vector + k);
      sum_0 = hn::MulAdd(factor, hn::LoadU(d, row_0 + k), sum_0);
      sum_1 = hn::MulAdd(factor, hn::LoadU(d, row_1 + k), sum_1);
      sum_2 = hn::MulAdd(factor, hn::LoadU(d, row_2 + k), sum_2);
      sum_3 = hn::MulAdd(factor, hn::LoadU(d, row_3 + k), sum_3);
    }
    store_sums(sum_0, sum_1, sum_2, sum_3, out + i);
  }
}

/// Computes kVectors vectors of the result of sum_rows, from column k on. Sums even and odd rows separately, so that
/// an addition need not wait for the one before.
template <int kVectors>
HWY_INLINE void sum_columns(const float* coefficient, const GatheredRows& rows, std::int64_t k, float* out) {
  const FloatTag d;
  Floats even[kVectors];
  Floats odd[kVectors];
  for (int v = 0; v < kVectors; ++v) even[v] = odd[v] = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 1 < rows.count; i += 2) {
    const auto even_factor = hn::Set(d, coefficient[i]);
    const auto odd_factor = hn::Set(d, coefficient[i + 1]);
    const float* even_row = rows.row(i) + k;
    const float* odd_row = rows.row(i + 1) + k;
    for (int v = 0; v < kVectors; ++v) {
      even[v] = hn::MulAdd(even_factor, hn::LoadU(d, even_row + v * kLanes), even[v]);
      odd[v] = hn::MulAdd(odd_factor, hn::LoadU(d, odd_row + v * kLanes), odd[v]);
    }
  }
  if (i < rows.count) {
    const auto factor = hn::Set(d, coefficient[i]);
    const float* row = rows.row(i) + k;
    for (int v = 0; v < kVectors; ++v) even[v] = hn::MulAdd(factor, hn::LoadU(d, row + v * kLanes), even[v]);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(hn::Add(even[v], odd[v]), d, out + k + v * kLanes);
}

/// Computes out = sum of coefficient[i] * row i over `size` columns, which must be whole vectors.
HWY_INLINE void sum_rows(const float* coefficient, const GatheredRows& rows, std::int64_t size, float* out) {
  constexpr std::int64_t kMaxVectors = 4;
  std::int64_t k = 0;
  for (; k + kMaxVectors * kLanes <= size; k += kMaxVectors * kLanes)
    sum_columns<kMaxVectors>(coefficient, rows, k, out);
  switch ((size - k) / kLanes) {
    case 3:
      return sum_columns<3>(coefficient, rows, k, out);
    case 2:
      return sum_columns<2>(coefficient, rows, k, out);
    case 1:
      return sum_columns<1>(coefficient, rows, k, out);
    default:  // no columns are left
      return;
  }
}

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Turns the `count` scores of a row, followed by -inf up to whole vectors, into exp(score - base). Returns the sum.
HWY_INLINE float exponentiate(float* score, std::int64_t count, float base) {
  const FloatTag d;
  // If base is -inf, all scores are -inf: a base of 0 then gives 0, not NaN.
  const auto bases = hn::Set(d, base == kMinusInfinity ? 0.0f : base);
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto weight = exp_lanes(hn::Sub(hn::LoadU(d, score + i), bases));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, score + i);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

struct SoftmaxNormalizer {
  float normalizer;      // 1 / sum of exp(score - maximum), or 0 if the sum is 0
  float log_normalizer;  // log(sum of exp(score))
};

/// Turns the `count` scores of a row, followed by -inf up to whole vectors, into exp(score - maximum).
HWY_INLINE SoftmaxNormalizer exponentiate(float* score, std::int64_t count) {
  const FloatTag d;
  auto largest = hn::Set(d, kMinusInfinity);
  for (std::int64_t i = 0; i < count; i += kLanes) largest = hn::Max(largest, hn::LoadU(d, score + i));
  const float maximum = hn::GetLane(hn::MaxOfLanes(d, largest));
  const float total = exponentiate(score, count, maximum);
  return {total == 0 ? 0.0f : 1 / total, maximum + std::log(total)};
}

/// Computes a[i] *= b[i] for `count` values, rounded up to whole vectors.
HWY_INLINE void multiply_in_place(float* a, const float* b, std::int64_t count) {
  const FloatTag d;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, a + i);
  }
}

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
        sources_(task.relation.intervals == nullptr ? 0 : task.longest_row) {
    if (task.score != nullptr) {
      product_ = take_edge_buffer();
      score_function_.emplace(task);
    }
    if (is_absent(task.edge_key) && is_absent(task.edge_value)) return;
    const RowTable& table = task.keys_and_values;
    edge_rows_ = take_buffer(kEdgeChunk * std::max(table.first_size, table.second_size));
    edge_sum_ = take_buffer(std::max(table.first_size, table.second_size));
  }

  /// Returns an uninitialised buffer that holds one number for each edge of the longest row.
  float* take_edge_buffer() const {
    return take_buffer(padded_size(task_.longest_row) + static_cast<std::int64_t>(kDropoutFactorsSlack));
  }
  static float* take_buffer(std::int64_t size) {
    return Scratch::of_this_thread().take(static_cast<std::size_t>(size));
  }

  void move_to(std::int64_t row) {
    row_ = row;
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
  /// the derivative of score i by <query, key>: the scale, or 0 where the clamp bounds the score. With a score
  /// function, differentiate_scores() computes the gradients of <query, key> instead.
  HWY_INLINE float* compute_scores(float* slope) {
    dot_rows(query_, task_.keys_and_values.first_size, keys(), score_);
    add_edge_dots(task_.edge_key, query_, score_);
    const FloatTag d;
    const auto scale = hn::Set(d, task_.scale);
    if (score_function_) {
      for (std::int64_t i = 0; i < count_; i += kLanes) {
        hn::StoreU(hn::Mul(scale, hn::LoadU(d, score_ + i)), d, product_ + i);
      }
      score_function_->compute(row_, first_edge_, keys().index, count_, product_, score_);
      std::fill(score_ + count_, score_ + padded_size(count_), kMinusInfinity);
      return score_;
    }
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

  /// Adds <vector, row of edge i> to out[i] for each edge, if there are rows of edges. The vector ends in zeros.
  HWY_INLINE void add_edge_dots(const HeadRows<ConstElements>& rows, const float* vector, float* out) {
    for_edge_chunks(rows, [&](std::int64_t first, const GatheredRows& chunk) HWY_ATTR {
      float dots[kEdgeChunk + 3];
      dot_rows(vector, chunk.stride, chunk, dots);
      for (std::int64_t i = 0; i < chunk.count; ++i) out[first + i] += dots[i];
    });
  }

  /// Adds the sum of coefficient[i] * row of edge i to `sum`, if there are rows of edges.
  HWY_INLINE void add_edge_sums(const HeadRows<ConstElements>& rows, const float* coefficient, float* sum) {
    for_edge_chunks(rows, [&](std::int64_t first, const GatheredRows& chunk) HWY_ATTR {
      sum_rows(coefficient + first, chunk, chunk.stride, edge_sum_);
      const FloatTag d;
      for (std::int64_t k = 0; k < chunk.stride; k += kLanes) {
        hn::StoreU(hn::Add(hn::LoadU(d, sum + k), hn::LoadU(d, edge_sum_ + k)), d, sum + k);
      }
    });
  }

  /// Writes coefficient[i] * vector to the row of edge i, for each edge, if there are rows of edges.
  HWY_INLINE void store_edge_rows(const HeadRows<Elements>& rows, const float* coefficient, const float* vector) const {
    if (edge_rows_ == nullptr || is_absent(rows)) return;
    for (std::int64_t i = 0; i < count_; ++i) store_row(vector, coefficient[i], rows, first_edge_ + i);
  }

  /// Turns gradients of scores into gradients of <query, key>, after compute_scores() of the row, and adds those of the
  /// score function's columns to `gradients`. Rows of other pieces may run in other threads.
  HWY_INLINE void differentiate_scores(const float* grad, const RowScoreGradients& gradients, std::int64_t piece,
                                       float* grad_product) {
    score_function_->differentiate(product_, grad, gradients, piece, grad_product);
    const FloatTag d;
    const auto scale = hn::Set(d, task_.scale);
    for (std::int64_t i = 0; i < count_; i += kLanes) {
      hn::StoreU(hn::Mul(scale, hn::LoadU(d, grad_product + i)), d, grad_product + i);
    }
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
  static constexpr std::int64_t kEdgeChunk = 16;

  // Calls fn(first, rows) with the rows of the edges from `first` on, as floats, for some edges of the row at a time.
  template <class Fn>
  HWY_INLINE void for_edge_chunks(const HeadRows<ConstElements>& rows, Fn fn) {
    static constexpr NodeIndex kIndex[kEdgeChunk] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    if (edge_rows_ == nullptr || is_absent(rows)) return;
    const std::int64_t stride = padded_size(rows.size);
    for (std::int64_t first = 0; first < count_; first += kEdgeChunk) {
      const std::int64_t count = std::min(kEdgeChunk, count_ - first);
      for (std::int64_t i = 0; i < count; ++i) load_row(rows, first_edge_ + first + i, edge_rows_ + i * stride);
      fn(first, GatheredRows{edge_rows_, stride, kIndex, count});
    }
  }

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
  float* product_ = nullptr;        // the scaled products, if there is a score function
  std::vector<NodeIndex> sources_;  // the row's sources, if the relation has intervals
  std::optional<RowScore> score_function_;
  float* edge_rows_ = nullptr;  // [kEdgeChunk, K or V], if there are rows of edges
  float* edge_sum_ = nullptr;   // [K or V]
  std::int64_t row_ = 0;
  EdgeIndex first_edge_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_ATTENTION_ROW_LOOPS_INL_H
