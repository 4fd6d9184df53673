// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/node_attention.h"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/attention/node_attention_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/node_attention_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/exp-inl.h"

#ifndef EDGEWISE_KERNELS_CPU_NODE_ATTENTION_CC
#define EDGEWISE_KERNELS_CPU_NODE_ATTENTION_CC
namespace edgewise::kernels {

using AnyNodeAttention = std::variant<NodeAttention<float>, NodeAttention<BFloat16>>;

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_CPU_NODE_ATTENTION_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

// All sums below are over vectors of one row: none crosses lanes but for heads that fill less than a vector.

/// Where the heads of a row are in vectors: head h is in lane h % lanes of each vector v of those with
/// v % groups == h / lanes; fewer heads than lanes repeat. `kGroups` is their number where it is known when this is
/// compiled, else 0: a division for each vector would take longer than all else.
template <int kGroups>
struct Lanes {
  std::int64_t count;    // lanes of a vector
  std::int64_t vectors;  // of a row
  std::int64_t groups;   // vectors that all heads fill, 1 where they fill less

  template <typename T>
  explicit Lanes(const NodeAttention<T>& p)
      : count(static_cast<std::int64_t>(hn::Lanes(FloatTag()))),
        vectors(p.head_size * p.num_heads / count),
        groups(kGroups != 0 ? kGroups : std::max<std::int64_t>(1, p.num_heads / count)) {}

  /// Where the weights of vector v's heads begin.
  std::int64_t weights_of(std::int64_t v) const { return kGroups == 1 ? 0 : v % groups * count; }
};

/// Each lane becomes the sum of the lanes of its head.
HWY_INLINE Floats sum_of_heads(Floats values, std::int64_t num_heads) {
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

/// A few sums of vectors, of rows that are computed together: what they read of a source they read once.
template <int kRows>
struct RowSums {
  Floats of[kRows];
};

/// For each row the sum of term(row, v, sum so far) over the vectors v = group, group + groups, …, in an order that
/// does not depend on kRows.
template <int kRows, int kGroups, class Term>
HWY_INLINE RowSums<kRows> sum_of_terms(const Lanes<kGroups>& lanes, std::int64_t group, Term&& term) {
  constexpr int kChains = 4;  // since an addition may start before the one before it has ended
  Floats sums[kRows][kChains];
  for (auto& row : sums) {
    for (Floats& sum : row) sum = hn::Zero(FloatTag());
  }
  std::int64_t v = group;
  const std::int64_t step = lanes.groups;
  for (; v + 3 * step < lanes.vectors; v += 4 * step) {
    for (int chain = 0; chain < kChains; ++chain) {
      for (int row = 0; row < kRows; ++row) sums[row][chain] = term(row, v + chain * step, sums[row][chain]);
    }
  }
  for (; v < lanes.vectors; v += step) {
    for (int row = 0; row < kRows; ++row) sums[row][0] = term(row, v, sums[row][0]);
  }
  RowSums<kRows> all;
  for (int row = 0; row < kRows; ++row) {
    all.of[row] = hn::Add(hn::Add(sums[row][0], sums[row][1]), hn::Add(sums[row][2], sums[row][3]));
  }
  return all;
}

template <int kRows, int kGroups, typename T>
HWY_INLINE RowSums<kRows> scores_of(const NodeAttention<T>& p, const Lanes<kGroups>& lanes, std::int64_t group,
                                    const float* query, const T* key) {
  const FloatTag d;
  RowSums<kRows> scores;
  if (p.score_vector == nullptr) {
    scores = sum_of_terms<kRows>(lanes, group, [&](int row, std::int64_t v, Floats so_far) HWY_ATTR {
      const std::int64_t at = v * lanes.count;
      return hn::MulAdd(hn::LoadU(d, query + row * p.query_stride + at), load(AllLanes(), key + at), so_far);
    });
  } else {
    scores = sum_of_terms<kRows>(lanes, group, [&](int row, std::int64_t v, Floats so_far) HWY_ATTR {
      const std::int64_t at = v * lanes.count;
      const Floats match =
          hn::Tanh(d, hn::Add(hn::LoadU(d, query + row * p.query_stride + at), load(AllLanes(), key + at)));
      return hn::MulAdd(hn::LoadU(d, p.score_vector + at), match, so_far);
    });
  }
  const Floats scale = hn::Set(d, p.score_vector == nullptr ? p.scale : 1.0f);
  const Floats bound = hn::Set(d, p.clamp);
  for (Floats& score : scores.of) {
    score = hn::Mul(sum_of_heads(score, p.num_heads), scale);
    score = hn::Min(hn::Max(score, hn::Neg(bound)), bound);
  }
  return scores;
}

// Scores of all sources, one vector behind the other, become their exponentials; returns 1 / their sum.
HWY_INLINE Floats softmax(std::int64_t count, std::int64_t step, float* scores, Floats maximum) {
  const FloatTag d;
  Floats total = hn::Zero(d);
  for (std::int64_t s = 0; s < count; ++s) {
    const Floats weight = exp_lanes(hn::Sub(hn::Load(d, scores + s * step), maximum));
    total = hn::Add(total, weight);
    hn::Store(weight, d, scores + s * step);
  }
  return hn::Div(hn::Set(d, 1.0f), total);
}

/// Rows that are computed together: they have the same number of sources, and those up to `shared` are the same ones.
struct RowGroup {
  std::int64_t first;
  std::int64_t count;  // of sources
  std::int64_t shared;
};

/// Where the weights of rows that are computed together are while they are: [row, source, group, lane], and 1 / their
/// sums, [row, group, lane].
struct WeightRoom {
  float* weights;
  float* inverse;
  std::int64_t of_source;  // floats
  std::int64_t of_row;
};

template <int kRows, int kGroups, typename T>
void weigh_group(const NodeAttention<T>& p, const Lanes<kGroups>& lanes, const RowGroup& rows, std::int64_t group,
                 const WeightRoom& room) {
  const FloatTag d;
  const float* query = p.query + rows.first * p.query_stride;
  float* weights = room.weights + group * lanes.count;
  RowSums<kRows> maximum;
  for (Floats& of_row : maximum.of) of_row = hn::Set(d, -p.clamp);
  const auto keep = [&](int row, std::int64_t s, Floats score) HWY_ATTR {
    maximum.of[row] = hn::Max(maximum.of[row], score);
    hn::Store(score, d, weights + row * room.of_row + s * room.of_source);
  };
  for (std::int64_t s = 0; s < rows.shared; ++s) {
    const T* key = p.sources[p.ranges[rows.first].begin + s] + p.key_offset;
    const RowSums<kRows> scores = scores_of<kRows>(p, lanes, group, query, key);
    for (int row = 0; row < kRows; ++row) keep(row, s, scores.of[row]);
  }
  for (int row = 0; row < kRows; ++row) {
    for (std::int64_t s = rows.shared; s < rows.count; ++s) {
      const T* key = p.sources[p.ranges[rows.first + row].begin + s] + p.key_offset;
      keep(row, s, scores_of<1>(p, lanes, group, query + row * p.query_stride, key).of[0]);
    }
  }
  for (int row = 0; row < kRows; ++row) {
    const Floats inverse = softmax(rows.count, room.of_source, weights + row * room.of_row, maximum.of[row]);
    hn::Store(inverse, d, room.inverse + row * room.of_source + group * lanes.count);
  }
}

// Vectors `first` to `first + kVectors` of the averages of values.
template <int kRows, int kVectors, int kGroups, typename T>
HWY_INLINE void average(const NodeAttention<T>& p, const Lanes<kGroups>& lanes, const RowGroup& rows,
                        std::int64_t first, const WeightRoom& room) {
  const FloatTag d;
  Floats sums[kRows][kVectors];
  for (auto& row : sums) {
    for (Floats& sum : row) sum = hn::Zero(d);
  }
  const std::int64_t offset = p.value_offset + first * lanes.count;
  const auto add = [&](int row, std::int64_t s, const T* value) HWY_ATTR {
    const float* weights = room.weights + row * room.of_row + s * room.of_source;
    for (int v = 0; v < kVectors; ++v) {
      const Floats weight = hn::Load(d, weights + lanes.weights_of(first + v));
      sums[row][v] = hn::MulAdd(weight, load(AllLanes(), value + v * lanes.count), sums[row][v]);
    }
  };
  for (std::int64_t s = 0; s < rows.shared; ++s) {
    const T* value = p.sources[p.ranges[rows.first].begin + s] + offset;
    for (int row = 0; row < kRows; ++row) add(row, s, value);
  }
  for (std::int64_t s = rows.shared; s < rows.count; ++s) {
    for (int row = 0; row < kRows; ++row) add(row, s, p.sources[p.ranges[rows.first + row].begin + s] + offset);
  }
  for (int row = 0; row < kRows; ++row) {
    float* out = p.out + ((rows.first + row) * lanes.vectors + first) * lanes.count;
    for (int v = 0; v < kVectors; ++v) {
      const Floats factor = hn::Load(d, room.inverse + row * room.of_source + lanes.weights_of(first + v));
      hn::StoreU(hn::Mul(sums[row][v], factor), d, out + v * lanes.count);
    }
  }
}

template <typename T>
void put_weights(const NodeAttention<T>& p, std::int64_t row, const float* weights, const float* inverse,
                 std::int64_t of_source) {
  for (std::int64_t s = 0; s < p.ranges[row].count; ++s) {
    for (std::int64_t h = 0; h < p.num_heads; ++h) {
      p.weights[row][s * p.num_heads + h] = weights[s * of_source + h] * inverse[h];
    }
  }
}

template <int kRows, int kGroups, typename T>
void attend_together(const NodeAttention<T>& p, const Lanes<kGroups>& lanes, const RowGroup& rows) {
  if (rows.count == 0) {
    std::fill_n(p.out + rows.first * lanes.vectors * lanes.count, kRows * lanes.vectors * lanes.count, 0.0f);
    return;
  }
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  const std::int64_t of_source = lanes.groups * lanes.count;
  const WeightRoom room = {scratch.take(static_cast<std::size_t>(kRows * rows.count * of_source)),
                           scratch.take(static_cast<std::size_t>(kRows * of_source)), of_source,
                           rows.count * of_source};
  for (std::int64_t group = 0; group < lanes.groups; ++group) weigh_group<kRows>(p, lanes, rows, group, room);
  for (int row = 0; p.weights != nullptr && row < kRows; ++row) {
    put_weights(p, rows.first + row, room.weights + row * room.of_row, room.inverse + row * of_source, of_source);
  }
  constexpr int kAtOnce = kRows == 1 ? 8 : 4;
  std::int64_t first = 0;
  for (; first + kAtOnce <= lanes.vectors; first += kAtOnce) average<kRows, kAtOnce>(p, lanes, rows, first, room);
  for (; first < lanes.vectors; ++first) average<kRows, 1>(p, lanes, rows, first, room);
}

template <typename T>
bool have_as_many_sources(const NodeAttention<T>& p, std::int64_t first_row, std::int64_t last_row) {
  for (std::int64_t row = first_row + 1; row <= last_row; ++row) {
    if (p.ranges[row].count != p.ranges[first_row].count) return false;
  }
  return true;
}

// Hypotheses of a sentence share the input, and what they produced before they parted.
template <typename T>
std::int64_t num_shared(const NodeAttention<T>& p, std::int64_t first_row, std::int64_t last_row) {
  const auto [begin, count] = p.ranges[first_row];
  std::int64_t shared = count;
  for (std::int64_t row = first_row + 1; row <= last_row; ++row) {
    if (p.ranges[row].begin == begin) continue;
    const auto* own = p.sources + begin;
    shared = std::mismatch(own, own + shared, p.sources + p.ranges[row].begin).first - own;
  }
  return shared;
}

template <int kGroups, typename T>
void attend(const NodeAttention<T>& p, std::int64_t row_begin, std::int64_t row_end) {
  constexpr int kTogether = 4;  // sixteen sums, of thirty-two registers
  const Lanes<kGroups> lanes(p);
  for (std::int64_t row = row_begin; row < row_end;) {
    const std::int64_t count = p.ranges[row].count;
    const std::int64_t last = row + kTogether - 1;
    if (last < row_end && have_as_many_sources(p, row, last)) {
      attend_together<kTogether>(p, lanes, {row, count, num_shared(p, row, last)});
      row += kTogether;
    } else {
      attend_together<1>(p, lanes, {row, count, count});
      ++row;
    }
  }
}

void attend_rows(const AnyNodeAttention& any, std::int64_t row_begin, std::int64_t row_end) {
  std::visit(
      [=](const auto& p) HWY_ATTR {
        const bool is_one_group = p.num_heads <= static_cast<std::int64_t>(hn::Lanes(FloatTag()));
        is_one_group ? attend<1>(p, row_begin, row_end) : attend<0>(p, row_begin, row_end);
      },
      any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(attend_rows);

template <typename T>
void node_attention(const NodeAttention<T>& p) {
  constexpr std::int64_t kGrain = 8;  // rows that a thread is worth waking for
  const TimedWork timed("attention");
  if (instruction_set() == InstructionSet::kReference) return reference::node_attention(p);
  parallel_for(p.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(attend_rows)(p, begin, end);
  });
}

template void node_attention(const NodeAttention<float>&);
template void node_attention(const NodeAttention<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
