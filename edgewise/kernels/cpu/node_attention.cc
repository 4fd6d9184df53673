// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/node_attention.h"

#include <algorithm>
#include <cstddef>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/cpu/scratch.h"
#include "edgewise/kernels/instruction_set.h"
#include "edgewise/kernels/reference/node_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/cpu/node_attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/cpu/exp-inl.h"

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

  explicit Lanes(const NodeAttention& p)
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

/// The sum of term(v) over the vectors v = group, group + groups, …
template <int kGroups, class Term>
HWY_INLINE Floats sum_of_terms(const Lanes<kGroups>& lanes, std::int64_t group, Term&& term) {
  const FloatTag d;
  Floats sum_0 = hn::Zero(d);
  Floats sum_1 = sum_0;
  Floats sum_2 = sum_0;
  Floats sum_3 = sum_0;
  std::int64_t v = group;
  const std::int64_t step = lanes.groups;
  for (; v + 3 * step < lanes.vectors; v += 4 * step) {
    sum_0 = term(v, sum_0);
    sum_1 = term(v + step, sum_1);
    sum_2 = term(v + 2 * step, sum_2);
    sum_3 = term(v + 3 * step, sum_3);
  }
  for (; v < lanes.vectors; v += step) sum_0 = term(v, sum_0);
  return hn::Add(hn::Add(sum_0, sum_1), hn::Add(sum_2, sum_3));
}

template <int kGroups>
HWY_INLINE Floats dot_score(const NodeAttention& p, const Lanes<kGroups>& lanes, std::int64_t group, const float* query,
                            const float* key) {
  const FloatTag d;
  const Floats sum = sum_of_terms(lanes, group, [&](std::int64_t v, Floats so_far) HWY_ATTR {
    return hn::MulAdd(hn::LoadU(d, query + v * lanes.count), hn::LoadU(d, key + v * lanes.count), so_far);
  });
  return hn::Mul(sum_of_heads(sum, p.num_heads), hn::Set(d, p.scale));
}

template <int kGroups>
HWY_INLINE Floats additive_score(const NodeAttention& p, const Lanes<kGroups>& lanes, std::int64_t group,
                                 const float* query, const float* key) {
  const FloatTag d;
  const Floats sum = sum_of_terms(lanes, group, [&](std::int64_t v, Floats so_far) HWY_ATTR {
    const std::int64_t at = v * lanes.count;
    const Floats match = hn::Tanh(d, hn::Add(hn::LoadU(d, query + at), hn::LoadU(d, key + at)));
    return hn::MulAdd(hn::LoadU(d, p.score_vector + at), match, so_far);
  });
  return sum_of_heads(sum, p.num_heads);
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

template <int kGroups>
void weigh_group(const NodeAttention& p, const Lanes<kGroups>& lanes, std::int64_t row, std::int64_t group,
                 float* weights, float* inverse) {
  const FloatTag d;
  const auto [begin, count] = p.ranges[row];
  const float* query = p.query + row * p.query_stride;
  const Floats bound = hn::Set(d, p.clamp);
  const std::int64_t step = lanes.groups * lanes.count;
  Floats maximum = hn::Neg(bound);
  for (std::int64_t s = 0; s < count; ++s) {
    const float* key = p.sources[begin + s] + p.key_offset;
    Floats score = p.score_vector == nullptr ? dot_score(p, lanes, group, query, key)
                                             : additive_score(p, lanes, group, query, key);
    score = hn::Min(hn::Max(score, hn::Neg(bound)), bound);
    maximum = hn::Max(maximum, score);
    hn::Store(score, d, weights + s * step);
  }
  hn::Store(softmax(count, step, weights, maximum), d, inverse);
}

// Vectors `first` to `first + kVectors` of the average of values.
template <int kVectors, int kGroups>
HWY_INLINE void average(const NodeAttention& p, const Lanes<kGroups>& lanes, std::int64_t row, std::int64_t first,
                        const float* weights, const float* inverse) {
  const FloatTag d;
  const auto [begin, count] = p.ranges[row];
  Floats sums[kVectors];
  for (Floats& sum : sums) sum = hn::Zero(d);
  for (std::int64_t s = 0; s < count; ++s) {
    const float* value = p.sources[begin + s] + p.value_offset + first * lanes.count;
    const float* of_source = weights + s * lanes.groups * lanes.count;
    for (int v = 0; v < kVectors; ++v) {
      const Floats weight = hn::Load(d, of_source + lanes.weights_of(first + v));
      sums[v] = hn::MulAdd(weight, hn::LoadU(d, value + v * lanes.count), sums[v]);
    }
  }
  float* out = p.out + (row * lanes.vectors + first) * lanes.count;
  for (int v = 0; v < kVectors; ++v) {
    const Floats factor = hn::Load(d, inverse + lanes.weights_of(first + v));
    hn::StoreU(hn::Mul(sums[v], factor), d, out + v * lanes.count);
  }
}

template <int kGroups>
void put_weights(const NodeAttention& p, const Lanes<kGroups>& lanes, std::int64_t row, const float* weights,
                 const float* inverse) {
  const std::int64_t step = lanes.groups * lanes.count;
  for (std::int64_t s = 0; s < p.ranges[row].count; ++s) {
    for (std::int64_t h = 0; h < p.num_heads; ++h) {
      p.weights[row][s * p.num_heads + h] = weights[s * step + h] * inverse[h];
    }
  }
}

template <int kGroups>
void attend(const NodeAttention& p, std::int64_t row_begin, std::int64_t row_end) {
  const Lanes<kGroups> lanes(p);
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    Scratch& scratch = Scratch::of_this_thread();
    scratch.reset();
    const std::int64_t count = p.ranges[row].count;
    const std::int64_t step = lanes.groups * lanes.count;
    float* inverse = scratch.take(static_cast<std::size_t>(step));
    float* weights = scratch.take(static_cast<std::size_t>(std::max<std::int64_t>(1, count) * step));
    if (count == 0) {
      std::fill_n(p.out + row * lanes.vectors * lanes.count, lanes.vectors * lanes.count, 0.0f);
      continue;
    }
    for (std::int64_t group = 0; group < lanes.groups; ++group) {
      weigh_group(p, lanes, row, group, weights + group * lanes.count, inverse + group * lanes.count);
    }
    if (p.weights != nullptr) put_weights(p, lanes, row, weights, inverse);
    constexpr int kAtOnce = 8;
    std::int64_t first = 0;
    for (; first + kAtOnce <= lanes.vectors; first += kAtOnce) {
      average<kAtOnce>(p, lanes, row, first, weights, inverse);
    }
    for (; first < lanes.vectors; ++first) average<1>(p, lanes, row, first, weights, inverse);
  }
}

void attend_rows(const NodeAttention& p, std::int64_t row_begin, std::int64_t row_end) {
  const bool is_one_group = p.num_heads <= static_cast<std::int64_t>(hn::Lanes(FloatTag()));
  (is_one_group ? attend<1> : attend<0>)(p, row_begin, row_end);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(attend_rows);

void node_attention(const NodeAttention& p) {
  constexpr std::int64_t kGrain = 8;  // rows that a thread is worth waking for
  const TimedWork timed("attention");
  if (instruction_set() == InstructionSet::kReference) return reference::node_attention(p);
  parallel_for(p.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(attend_rows)(p, begin, end);
  });
}

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
