// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/vocabulary_tile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/cpu/best_tokens.h"
#include "edgewise/kernels/instruction_set.h"
#include "edgewise/kernels/reference/vocabulary_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/cpu/vocabulary_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/cpu/add_norm-inl.h"
#include "edgewise/kernels/cpu/scaled_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE Floats or_lowest(AllLanes /*part*/, Floats values) { return values; }
HWY_INLINE Floats or_lowest(FirstLanes part, Floats values) {
  const FloatTag d;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return hn::IfThenElse(hn::FirstN(d, part.count), values, hn::Set(d, kLowest));
}

/// exp(x) for sums, of x up to 88: within 4e-6 of itself; what is below -87 is taken for -87.
HWY_INLINE Floats rough_exp(Floats x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  // 2^(n + r) with |r| <= 1/2. Adding 1.5 * 2^23 rounds to an integer n, which the low bits then hold.
  const Floats y = hn::Mul(hn::Max(x, hn::Set(d, -87.0f)), hn::Set(d, 0x1.715476p0f));
  const Floats shift = hn::Set(d, 0x1.8p23f);
  const Floats shifted = hn::Add(y, shift);
  const Floats r = hn::Sub(y, hn::Sub(shifted, shift));
  // 2^r, interpolated at Chebyshev's nodes.
  Floats power = hn::MulAdd(hn::Set(d, 0x1.3cbf6000p-7f), r, hn::Set(d, 0x1.ca1ce200p-5f));
  power = hn::MulAdd(power, r, hn::Set(d, 0x1.ebfa4c00p-3f));
  power = hn::MulAdd(power, r, hn::Set(d, 0x1.62e0c200p-1f));
  power = hn::MulAdd(power, r, hn::Set(d, 0x1.00000000p+0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(d32, power), hn::ShiftLeft<23>(hn::BitCast(d32, shifted))));
}

/// Logits of a row, as floats or made of the products of 8 bits.
struct FloatLogits {
  const float* values;

  template <class Part>
  HWY_INLINE Floats operator()(std::int64_t n, Part part) const {
    return load(part, values + n);
  }
};

struct ScaledLogits {
  const std::int32_t* sums;
  const float* column_scale;
  const float* bias;
  float row_scale;

  template <class Part>
  HWY_INLINE Floats operator()(std::int64_t n, Part part) const {
    return hn::Add(scaled_sums(part, sums + n, row_scale, column_scale + n), load(part, bias + n));
  }
};

HWY_INLINE Floats lowest() { return hn::Set(FloatTag(), -std::numeric_limits<float>::infinity()); }

/// What candidates there are in a tile for a row.
struct Candidates {
  const VocabularyTile& tile;
  OutputRow& row;
  float worst;  // one must be above it

  template <class Part>
  HWY_INLINE Floats penalised(Floats logits, std::int64_t n, Part part) const {
    return tile.penalty == nullptr ? logits : hn::Sub(logits, load(part, tile.penalty + n));
  }

  // A vector without one that is good enough, as nearly all are, costs one comparison.
  template <class Part>
  HWY_INLINE void look_at(Floats logits, std::int64_t n, Part part) {
    const FloatTag d;
    if (hn::AllFalse(d, hn::Gt(or_lowest(part, logits), hn::Set(d, worst)))) return;
    insert_from(or_lowest(part, penalised(logits, n, part)), n);
  }

  HWY_NOINLINE void insert_from(Floats logits, std::int64_t n) {
    const FloatTag d;
    HWY_ALIGN float room[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(logits, d, room);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      if (!(room[i] > worst)) continue;
      insert(row, room[i], static_cast<std::int32_t>(tile.first_token + n + static_cast<std::int64_t>(i)));
      worst = std::max(worst, worst_of_best(row));
    }
  }
};

// What as many logits as are wanted reach, at least: the largest of each lane are that many different ones. Spares the
// first tile most insertions.
HWY_INLINE float just_below_the_best(Floats largest_of_lanes, std::int64_t wanted) {
  const FloatTag d;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (wanted == 0 || wanted > lanes) return kLowest;
  HWY_ALIGN float room[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(largest_of_lanes, d, room);
  std::nth_element(room, room + wanted - 1, room + lanes, [](float a, float b) { return a > b; });
  return std::nextafter(room[wanted - 1], kLowest);
}

// Of the first tile: where to take exponentials from, and how good a candidate has to be.
template <class Logits>
HWY_INLINE void begin_row(const Logits& logits, std::int64_t count, Candidates& candidates) {
  Floats largest = lowest();
  Floats largest_candidates = lowest();
  for_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR {
    const Floats logit = logits(n, part);
    largest = hn::Max(largest, or_lowest(part, logit));
    largest_candidates = hn::Max(largest_candidates, or_lowest(part, candidates.penalised(logit, n, part)));
  });
  candidates.row.maximum = hn::GetLane(hn::MaxOfLanes(FloatTag(), largest));
  candidates.worst = std::max(candidates.worst, just_below_the_best(largest_candidates, candidates.row.capacity));
}

struct Seen {
  float total, maximum;
};

// The sum of exp(logit - base), and the largest logit.
template <class Logits>
HWY_INLINE Seen sum_and_maximum(const Logits& logits, std::int64_t count, float base, Candidates* candidates) {
  const FloatTag d;
  const Floats bases = hn::Set(d, base);
  Floats total = hn::Zero(d);
  Floats largest = lowest();
  for_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR {
    const Floats logit = logits(n, part);
    largest = hn::Max(largest, or_lowest(part, logit));
    total = hn::Add(total, first_lanes(part, rough_exp(hn::Sub(logit, bases))));
    if (candidates != nullptr) candidates->look_at(logit, n, part);
  });
  return {sum_of_lanes(total), hn::GetLane(hn::MaxOfLanes(d, largest))};
}

// A base need not be the largest logit, only so near that nothing overflows: that of the tiles before mostly is.
template <class Logits>
void see_row(const VocabularyTile& p, OutputRow& state, const Logits& logits) {
  constexpr float kFarAbove = 40;
  Candidates candidates = {p, state, worst_of_best(state)};
  if (state.total == 0) begin_row(logits, p.columns, candidates);
  Seen seen = sum_and_maximum(logits, p.columns, state.maximum, &candidates);
  if (seen.maximum > state.maximum + kFarAbove) {
    state.total *= std::exp(double{state.maximum} - seen.maximum);
    state.maximum = seen.maximum;
    seen = sum_and_maximum(logits, p.columns, state.maximum, nullptr);
  }
  state.total += seen.total;
  if (state.logits == nullptr) return;
  for_lanes(p.columns, [&](std::int64_t n, auto part) HWY_ATTR { store(part, logits(n, part), state.logits + n); });
}

void see_rows(const VocabularyTile& p, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    if (p.product.sums == nullptr) {
      see_row(p, p.state[row], FloatLogits{p.values + row * p.columns});
    } else {
      see_row(p, p.state[row],
              ScaledLogits{p.product.sums + row * p.columns, p.product.column_scale, p.product.bias,
                           p.product.row_scale[row]});
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(see_rows);

void see_tile(const VocabularyTile& p) {
  const TimedWork timed("top");
  if (instruction_set() == InstructionSet::kReference) return reference::see_tile(p);
  parallel_for(p.rows, 8192 / (p.columns + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(see_rows)(p, begin, end);
  });
}

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
