// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <variant>
#include <vector>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/simd/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/node_attention_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so a variant holds the types.
using AnyNodeAttention = std::variant<NodeAttention<float>, NodeAttention<BFloat16>>;

/// Maps heads to the lanes of a row's vectors: head h is lane h % count of each vector v with v % head_vectors == h /
/// count. Heads that fill less than a vector repeat in it. kHeadVectors, if not 0, is head_vectors as a compile-time
/// constant, which saves a division for each vector that would take longer than all other work.
template <int kHeadVectors>
struct HeadLanes {
  std::int64_t count;         // lanes per vector
  std::int64_t vectors;       // vectors per row
  std::int64_t head_vectors;  // vectors that all heads fill, at least 1

  template <typename T>
  explicit HeadLanes(const NodeAttention<T>& p)
      : count(static_cast<std::int64_t>(hn::Lanes(FloatTag()))),
        vectors(p.head_size * p.num_heads / count),
        head_vectors(kHeadVectors != 0 ? kHeadVectors : std::max<std::int64_t>(1, p.num_heads / count)) {}

  /// Returns the index of the first weight that vector v needs, among a source's weights [head_vectors, count].
  std::int64_t weight_offset(std::int64_t v) const { return kHeadVectors == 1 ? 0 : v % head_vectors * count; }
};

/// Returns a vector whose lanes are the sums of all lanes of the same head.
HWY_INLINE Floats sum_each_head(Floats values, std::int64_t num_heads) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto lane = hn::Iota(d32, 0);
  const auto last = hn::Set(d32, static_cast<std::int32_t>(lanes - 1));
  for (std::int64_t step = lanes / 2; step >= num_heads; step /= 2) {
    const auto other = hn::And(hn::Add(lane, hn::Set(d32, static_cast<std::int32_t>(step))), last);
    values = hn::Add(values, hn::TableLookupLanes(values, hn::IndicesFromVec(d, other)));
  }
  return values;
}

/// One vector for each of kRows rows that are computed together, so that each source is loaded only once.
template <int kRows>
struct RowVectors {
  Floats row[kRows];
};

/// Returns the sum of the terms of the vectors v = head_vector, head_vector + head_vectors, … of each row, where
/// term(row, v, sum) adds a term to a partial sum. The order of the additions does not depend on kRows.
template <int kRows, int kHeadVectors, class Term>
HWY_INLINE RowVectors<kRows> sum_terms(const HeadLanes<kHeadVectors>& lanes, std::int64_t head_vector, Term&& term) {
  constexpr int kChains = 4;  // independent sums, so that an addition need not wait for the one before it
  Floats sums[kRows][kChains];
  for (auto& row : sums) {
    for (Floats& sum : row) sum = hn::Zero(FloatTag());
  }
  std::int64_t v = head_vector;
  const std::int64_t step = lanes.head_vectors;
  for (; v + 3 * step < lanes.vectors; v += 4 * step) {
    for (int chain = 0; chain < kChains; ++chain) {
      for (int row = 0; row < kRows; ++row) sums[row][chain] = term(row, v + chain * step, sums[row][chain]);
    }
  }
  for (; v < lanes.vectors; v += step) {
    for (int row = 0; row < kRows; ++row) sums[row][0] = term(row, v, sums[row][0]);
  }
  RowVectors<kRows> result;
  for (int row = 0; row < kRows; ++row) {
    result.row[row] = hn::Add(hn::Add(sums[row][0], sums[row][1]), hn::Add(sums[row][2], sums[row][3]));
  }
  return result;
}

template <int kRows, int kHeadVectors, typename T>
HWY_INLINE RowVectors<kRows> compute_scores(const NodeAttention<T>& p, const HeadLanes<kHeadVectors>& lanes,
                                            std::int64_t head_vector, const float* const (&query)[kRows],
                                            const T* key) {
  const FloatTag d;
  RowVectors<kRows> scores;
  if (p.score_vector == nullptr) {
    scores = sum_terms<kRows>(lanes, head_vector, [&](int row, std::int64_t v, Floats sum) HWY_ATTR {
      const std::int64_t offset = v * lanes.count;
      return hn::MulAdd(hn::LoadU(d, query[row] + offset), load(AllLanes(), key + offset), sum);
    });
  } else {
    scores = sum_terms<kRows>(lanes, head_vector, [&](int row, std::int64_t v, Floats sum) HWY_ATTR {
      const std::int64_t offset = v * lanes.count;
      const Floats activation = hn::Tanh(d, hn::Add(hn::LoadU(d, query[row] + offset), load(AllLanes(), key + offset)));
      return hn::MulAdd(hn::LoadU(d, p.score_vector + offset), activation, sum);
    });
  }
  const Floats scale = hn::Set(d, p.score_vector == nullptr ? p.scale : 1.0f);
  const Floats bound = hn::Set(d, p.clamp);
  for (Floats& score : scores.row) {
    score = hn::Mul(sum_each_head(score, p.num_heads), scale);
    score = hn::Min(hn::Max(score, hn::Neg(bound)), bound);
  }
  return scores;
}

/// Returns what the bias adds to the scores of source number s of a row.
template <typename T>
HWY_INLINE Floats compute_bias(const NodeAttention<T>& p, std::int64_t row, std::int64_t s, std::int64_t lane) {
  const FloatTag d;
  Floats sum = hn::Zero(d);
  if (p.bias->table != nullptr) sum = hn::LoadU(d, p.bias_numbers(row, s) + lane);
  if (p.bias->slopes == nullptr) return sum;
  const Floats magnitude = hn::Set(d, static_cast<float>(std::abs(p.distance(row, s))));
  return hn::NegMulAdd(hn::LoadU(d, p.slopes_of(row) + lane), magnitude, sum);
}

/// Turns `count` vectors of scores, `step` floats apart, into exp(score - maximum). Returns 1 / the sum of the results.
HWY_INLINE Floats exponentiate(std::int64_t count, std::int64_t step, float* scores, Floats maximum) {
  const FloatTag d;
  Floats total = hn::Zero(d);
  for (std::int64_t s = 0; s < count; ++s) {
    const Floats weight = exp_lanes(hn::Sub(hn::Load(d, scores + s * step), maximum));
    total = hn::Add(total, weight);
    hn::Store(weight, d, scores + s * step);
  }
  return hn::Div(hn::Set(d, 1.0f), total);
}

/// Consecutive rows that are computed together. The sources of each row are `prefix` sources that all rows share,
/// skipped[row] of its own, `middle` sources that all rows share, and others of its own. So a part of a text has only
/// sources of its own after the shared ones, and the rows of a sliding window also have some before them.
template <int kRows>
struct RowGroup {
  std::int64_t first;  // first row
  std::int64_t prefix = 0;
  std::int64_t middle = 0;
  std::int64_t skipped[kRows] = {};
};

/// Calls shared(sources, count, places) for sources that all rows share, where source i is number places[row] + i of a
/// row, and own(row, sources, count, place) for sources of one row, both in the order of each row's sources.
template <int kRows, typename T, class Shared, class Own>
HWY_INLINE void visit_sources(const NodeAttention<T>& p, const RowGroup<kRows>& rows, Shared&& shared, Own&& own) {
  const auto sources = [&](int row, std::int64_t s) { return p.sources + p.range(rows.first + row).begin + s; };
  std::int64_t places[kRows] = {};
  shared(sources(0, 0), rows.prefix, places);
  for (int row = 0; row < kRows; ++row) {
    own(row, sources(row, rows.prefix), rows.skipped[row], rows.prefix);
    places[row] = rows.prefix + rows.skipped[row];
  }
  shared(sources(0, places[0]), rows.middle, places);
  for (int row = 0; row < kRows; ++row) {
    const std::int64_t place = places[row] + rows.middle;
    own(row, sources(row, place), p.range(rows.first + row).count - place, place);
  }
}

/// The workspace of a RowGroup. Strides count floats.
struct WeightBuffer {
  float* weights;  // [row, source, head_vector, lane]: exp(score - maximum)
  float* inverse;  // [row, head_vector, lane]: 1 / the sum of the weights
  std::int64_t source_stride;
  std::int64_t row_stride;
};

template <int kRows, int kHeadVectors, typename T>
void compute_weights(const NodeAttention<T>& p, const HeadLanes<kHeadVectors>& lanes, const RowGroup<kRows>& rows,
                     std::int64_t head_vector, const WeightBuffer& buffer) {
  const FloatTag d;
  const float* query[kRows];
  for (int row = 0; row < kRows; ++row) query[row] = p.query_of(rows.first + row);
  float* weights = buffer.weights + head_vector * lanes.count;
  RowVectors<kRows> maximum;
  const float smallest = p.bias == nullptr ? -p.clamp : -std::numeric_limits<float>::infinity();
  for (Floats& score : maximum.row) score = hn::Set(d, smallest);
  const auto add_score = [&](int row, std::int64_t s, Floats score) HWY_ATTR {
    if (p.bias != nullptr) score = hn::Add(score, compute_bias(p, rows.first + row, s, head_vector * lanes.count));
    maximum.row[row] = hn::Max(maximum.row[row], score);
    hn::Store(score, d, weights + row * buffer.row_stride + s * buffer.source_stride);
  };
  visit_sources<kRows>(
      p, rows,
      [&](const T* const* sources, std::int64_t count, const std::int64_t* places) HWY_ATTR {
        for (std::int64_t i = 0; i < count; ++i) {
          const RowVectors<kRows> scores =
              compute_scores<kRows>(p, lanes, head_vector, query, sources[i] + p.key_offset);
          for (int row = 0; row < kRows; ++row) add_score(row, places[row] + i, scores.row[row]);
        }
      },
      [&](int row, const T* const* sources, std::int64_t count, std::int64_t place) HWY_ATTR {
        for (std::int64_t i = 0; i < count; ++i) {
          const T* key = sources[i] + p.key_offset;
          const float* const own_query[1] = {query[row]};
          add_score(row, place + i, compute_scores<1>(p, lanes, head_vector, own_query, key).row[0]);
        }
      });
  for (int row = 0; row < kRows; ++row) {
    const Floats inverse = exponentiate(p.range(rows.first + row).count, buffer.source_stride,
                                        weights + row * buffer.row_stride, maximum.row[row]);
    hn::Store(inverse, d, buffer.inverse + row * buffer.source_stride + head_vector * lanes.count);
  }
}

/// Writes kVectors vectors of each row's output, from vector `first` on: the weighted averages of the values.
template <int kRows, int kVectors, int kHeadVectors, typename T>
HWY_INLINE void average(const NodeAttention<T>& p, const HeadLanes<kHeadVectors>& lanes, const RowGroup<kRows>& rows,
                        std::int64_t first, const WeightBuffer& buffer) {
  const FloatTag d;
  Floats sums[kRows][kVectors];
  for (auto& row : sums) {
    for (Floats& sum : row) sum = hn::Zero(d);
  }
  const std::int64_t offset = p.value_offset + first * lanes.count;
  const auto add = [&](int row, const float* weights, const T* value) HWY_ATTR {
    for (int v = 0; v < kVectors; ++v) {
      const Floats weight = hn::Load(d, weights + lanes.weight_offset(first + v));
      sums[row][v] = hn::MulAdd(weight, load(AllLanes(), value + v * lanes.count), sums[row][v]);
    }
  };
  const auto weights_at = [&](int row, std::int64_t place) {
    return buffer.weights + row * buffer.row_stride + place * buffer.source_stride;
  };
  visit_sources<kRows>(
      p, rows,
      [&](const T* const* sources, std::int64_t count, const std::int64_t* places) HWY_ATTR {
        const float* weights[kRows];
        for (int row = 0; row < kRows; ++row) weights[row] = weights_at(row, places[row]);
        for (std::int64_t i = 0; i < count; ++i) {
          const T* value = sources[i] + offset;
          for (int row = 0; row < kRows; ++row) add(row, weights[row] + i * buffer.source_stride, value);
        }
      },
      [&](int row, const T* const* sources, std::int64_t count, std::int64_t place) HWY_ATTR {
        for (std::int64_t i = 0; i < count; ++i) add(row, weights_at(row, place + i), sources[i] + offset);
      });
  for (int row = 0; row < kRows; ++row) {
    float* out = p.out + ((rows.first + row) * lanes.vectors + first) * lanes.count;
    for (int v = 0; v < kVectors; ++v) {
      const Floats factor = hn::Load(d, buffer.inverse + row * buffer.source_stride + lanes.weight_offset(first + v));
      hn::StoreU(hn::Mul(sums[row][v], factor), d, out + v * lanes.count);
    }
  }
}

template <typename T>
void write_weights(const NodeAttention<T>& p, std::int64_t row, const float* weights, const float* inverse,
                   std::int64_t source_stride) {
  for (std::int64_t s = 0; s < p.range(row).count; ++s) {
    for (std::int64_t h = 0; h < p.num_heads; ++h) {
      p.weights[row][s * p.num_heads + h] = weights[s * source_stride + h] * inverse[h];
    }
  }
}

template <int kRows, int kHeadVectors, typename T>
void attend_row_group(const NodeAttention<T>& p, const HeadLanes<kHeadVectors>& lanes, const RowGroup<kRows>& rows) {
  std::int64_t most = 0;
  for (int row = 0; row < kRows; ++row) most = std::max(most, p.range(rows.first + row).count);
  if (most == 0) {
    std::fill_n(p.out + rows.first * lanes.vectors * lanes.count, kRows * lanes.vectors * lanes.count, 0.0f);
    return;
  }
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  const std::int64_t source_stride = lanes.head_vectors * lanes.count;
  const WeightBuffer buffer = {scratch.take(static_cast<std::size_t>(kRows * most * source_stride)),
                               scratch.take(static_cast<std::size_t>(kRows * source_stride)), source_stride,
                               most * source_stride};
  for (std::int64_t v = 0; v < lanes.head_vectors; ++v) compute_weights<kRows>(p, lanes, rows, v, buffer);
  for (int row = 0; p.weights != nullptr && row < kRows; ++row) {
    write_weights(p, rows.first + row, buffer.weights + row * buffer.row_stride, buffer.inverse + row * source_stride,
                  source_stride);
  }
  constexpr int kVectors = kRows == 1 ? 8 : 4;
  std::int64_t first = 0;
  for (; first + kVectors <= lanes.vectors; first += kVectors) average<kRows, kVectors>(p, lanes, rows, first, buffer);
  for (; first < lanes.vectors; ++first) average<kRows, 1>(p, lanes, rows, first, buffer);
}

/// Returns how many sources from number `place` of a row on are those of another row from number `other_place` on.
template <typename T>
std::int64_t count_equal_sources(const NodeAttention<T>& p, std::int64_t row, std::int64_t place, std::int64_t other,
                                 std::int64_t other_place, std::int64_t most) {
  most = std::min({most, p.range(row).count - place, p.range(other).count - other_place});
  const auto* first = p.sources + p.range(row).begin + place;
  const auto* second = p.sources + p.range(other).begin + other_place;
  return first == second ? most : std::mismatch(first, first + most, second).first - first;
}

/// Finds the sources that the rows from `first` on share. The hypotheses of a sentence share its input and a prefix;
/// in a text, a row's sources are those of the row before, with one more at the end and, in a window, one less at the
/// beginning.
template <int kRows, typename T>
RowGroup<kRows> find_shared_sources(const NodeAttention<T>& p, std::int64_t first) {
  constexpr std::int64_t kMostSkipped = std::int64_t{4} * kRows;
  RowGroup<kRows> rows = {.first = first, .prefix = p.range(first).count};
  for (int row = 1; row < kRows; ++row) rows.prefix = count_equal_sources(p, first, 0, first + row, 0, rows.prefix);
  const std::int64_t last = first + kRows - 1;
  std::int64_t middle = p.range(last).count - rows.prefix;
  if (middle == 0) return rows;
  const T* const* target = p.sources + p.range(last).begin + rows.prefix;
  std::int64_t skipped[kRows] = {};
  for (int row = 0; row < kRows - 1; ++row) {
    const auto* begin = p.sources + p.range(first + row).begin + rows.prefix;
    const auto* end = begin + std::min(kMostSkipped, p.range(first + row).count - rows.prefix);
    skipped[row] = std::find(begin, end, *target) - begin;
    middle = count_equal_sources(p, last, rows.prefix, first + row, rows.prefix + skipped[row], middle);
  }
  if (middle == 0) return rows;
  rows.middle = middle;
  std::copy_n(skipped, kRows, rows.skipped);
  return rows;
}

/// Returns whether computing the rows of a group together takes less time than computing each alone.
template <int kRows, typename T>
bool is_worth_grouping(const NodeAttention<T>& p, const RowGroup<kRows>& rows) {
  bool has_equal_counts = true;
  std::int64_t most = 0;
  for (int row = 0; row < kRows; ++row) {
    const std::int64_t count = p.range(rows.first + row).count;
    if (count == 0) return false;
    has_equal_counts = has_equal_counts && count == p.range(rows.first).count;
    most = std::max(most, count);
  }
  return has_equal_counts || 2 * (rows.prefix + rows.middle) >= most;
}

template <int kHeadVectors, typename T>
void attend(const NodeAttention<T>& p, std::int64_t row_begin, std::int64_t row_end) {
  constexpr int kRows = 4;  // 4 rows of 4 sums take 16 of 32 registers
  const HeadLanes<kHeadVectors> lanes(p);
  for (std::int64_t row = row_begin; row < row_end;) {
    if (row + kRows <= row_end) {
      const RowGroup<kRows> rows = find_shared_sources<kRows>(p, row);
      if (is_worth_grouping(p, rows)) {
        attend_row_group(p, lanes, rows);
        row += kRows;
        continue;
      }
    }
    attend_row_group(p, lanes, RowGroup<1>{.first = row, .prefix = p.range(row).count});
    ++row;
  }
}

void attend_rows(const AnyNodeAttention& any, std::int64_t row_begin, std::int64_t row_end) {
  std::visit(
      [=](const auto& p) HWY_ATTR {
        const bool is_one_vector = p.num_heads <= static_cast<std::int64_t>(hn::Lanes(FloatTag()));
        is_one_vector ? attend<1>(p, row_begin, row_end) : attend<0>(p, row_begin, row_end);
      },
      any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {
namespace {

template <typename T>
double score(const NodeAttention<T>& p, const float* query, const T* key, std::int64_t head) {
  double sum = 0;
  for (std::int64_t k = 0; k < p.head_size; ++k) {
    const std::int64_t i = k * p.num_heads + head;
    const double q = query[i];
    const double k_i = static_cast<float>(key[i]);
    sum += p.score_vector == nullptr ? q * k_i : p.score_vector[i] * std::tanh(q + k_i);
  }
  if (p.score_vector == nullptr) sum *= p.scale;
  return std::clamp(sum, -double{p.clamp}, double{p.clamp});
}

template <typename T>
void attend(const NodeAttention<T>& p, std::int64_t row, std::int64_t head) {
  const auto [begin, count] = p.range(row);
  const float* query = p.query_of(row);
  std::vector<double> weights;
  for (std::int64_t s = 0; s < count; ++s) {
    weights.push_back(score(p, query, p.sources[begin + s] + p.key_offset, head));
    if (p.bias == nullptr) continue;
    if (p.bias->table != nullptr) weights.back() += p.bias_numbers(row, s)[head];
    if (p.bias->slopes == nullptr) continue;
    weights.back() -= p.slopes_of(row)[head] * static_cast<double>(std::abs(p.distance(row, s)));
  }
  const double maximum = count == 0 ? 0 : *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - maximum);

  for (std::int64_t s = 0; p.weights != nullptr && s < count; ++s) {
    p.weights[row][s * p.num_heads + head] = static_cast<float>(weights[s] / total);
  }
  for (std::int64_t k = 0; k < p.head_size; ++k) {
    const std::int64_t i = k * p.num_heads + head;
    double sum = 0;
    for (std::int64_t s = 0; s < count; ++s) {
      sum += weights[s] * static_cast<float>(p.sources[begin + s][p.value_offset + i]);
    }
    p.out[row * p.head_size * p.num_heads + i] = count == 0 ? 0.0f : static_cast<float>(sum / total);
  }
}

}  // namespace

template <typename T>
void node_attention(const NodeAttention<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t head = 0; head < p.num_heads; ++head) attend(p, row, head);
  }
}

template void node_attention(const NodeAttention<float>&);
template void node_attention(const NodeAttention<BFloat16>&);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(attend_rows);

template <typename T>
void node_attention(const NodeAttention<T>& p) {
  constexpr std::int64_t kMinRowsPerThread = 8;
  const ScopedTimer timer("attention");
  if (instruction_set() == InstructionSet::kReference) return reference::node_attention(p);
  parallel_for(p.rows, kMinRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(attend_rows)(p, begin, end);
  });
}

template void node_attention(const NodeAttention<float>&);
template void node_attention(const NodeAttention<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
