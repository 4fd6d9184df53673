// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/vocabulary_tile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/loss/best_tokens.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/loss/vocabulary_tile_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/loss/vocabulary_tile_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/norm/add_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE Floats or_lowest(AllLanes /*part*/, Floats values) { return values; }
HWY_INLINE Floats or_lowest(FirstLanes part, Floats values) {
  const FloatTag d;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return hn::IfThenElse(hn::FirstN(d, part.count), values, hn::Set(d, kLowest));
}

HWY_INLINE Floats lowest() { return hn::Set(FloatTag(), -std::numeric_limits<float>::infinity()); }

constexpr float kLog2OfE = 0x1.715476p0f;

/// exp(logit - base) for sums, where `offset` is -base * log2(e), of logits up to 88 above the base: within 1e-5 of
/// itself. What is below -87 is taken for -87.
HWY_INLINE Floats rough_exp(Floats logits, Floats offset) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  // 2^(n + r) with |r| <= 1/2. Adding 1.5 * 2^23 rounds to an integer n, which the low bits then hold.
  const Floats y = hn::Max(hn::MulAdd(logits, hn::Set(d, kLog2OfE), offset), hn::Set(d, -125.5f));
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

/// What is out of the ordinary among a row's logits: candidates, and what is so far above the base that a new one is
/// needed. The base is mostly the largest logit of the first tile.
struct Watch {
  const VocabularyTile& tile;
  OutputRow& row;
  float worst;  // a candidate must be above it

  static constexpr float kFarAbove = 40;

  /// What is not above it is of no interest.
  float threshold() const { return std::min(worst, row.maximum + kFarAbove); }

  template <class Part>
  HWY_INLINE Floats penalised(Floats logits, std::int64_t n, Part part) const {
    return tile.penalty == nullptr ? logits : hn::Sub(logits, load(part, tile.penalty + n));
  }

  /// Vectors [n, end) one by one. True where a new base is needed.
  HWY_NOINLINE bool look_at(const float* logits, std::int64_t n, std::int64_t end) {
    const FloatTag d;
    bool is_far = false;
    for_lanes(end - n, [&](std::int64_t i, auto part) HWY_ATTR {
      const Floats values = or_lowest(part, load(part, logits + n + i));
      is_far = is_far || !hn::AllFalse(d, hn::Gt(values, hn::Set(d, row.maximum + kFarAbove)));
      if (!hn::AllFalse(d, hn::Gt(values, hn::Set(d, worst)))) insert_from(values, n + i, part);
    });
    return is_far;
  }

  template <class Part>
  void insert_from(Floats values, std::int64_t n, Part part) {
    const FloatTag d;
    HWY_ALIGN float room[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(or_lowest(part, penalised(values, n, part)), d, room);
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

Floats largest_of(const float* logits, std::int64_t count) {
  Floats largest = lowest();
  for_lanes(count, [&](std::int64_t n, auto part)
                       HWY_ATTR { largest = hn::Max(largest, or_lowest(part, load(part, logits + n))); });
  return largest;
}

// Of the first tile: where to take exponentials from, and how good a candidate has to be.
void begin_row(const float* logits, Watch& watch) {
  Floats largest = largest_of(logits, watch.tile.columns);
  watch.row.maximum = hn::GetLane(hn::MaxOfLanes(FloatTag(), largest));
  if (watch.tile.penalty != nullptr) {
    largest = lowest();
    for_lanes(watch.tile.columns, [&](std::int64_t n, auto part) HWY_ATTR {
      largest = hn::Max(largest, or_lowest(part, watch.penalised(load(part, logits + n), n, part)));
    });
  }
  watch.worst = std::max(watch.worst, just_below_the_best(largest, watch.row.capacity));
}

float sum_of_exponentials(const float* logits, std::int64_t count, float base) {
  const Floats offset = hn::Set(FloatTag(), -base * kLog2OfE);
  return sum_lanes(count,
                   [&](std::int64_t n, auto part) HWY_ATTR { return rough_exp(load(part, logits + n), offset); });
}

// The same sum, with an eye on what is out of the ordinary. Nearly all fours of vectors have nothing of the kind, which
// one comparison shows. True where a new base is needed.
bool sum_and_watch(const float* logits, Watch& watch, float* sum) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t count = watch.tile.columns;
  const Floats offset = hn::Set(d, -watch.row.maximum * kLog2OfE);
  Floats threshold = hn::Set(d, watch.threshold());
  Floats total = hn::Zero(d);
  bool is_far = false;
  std::int64_t n = 0;
  for (; n + 4 * lanes <= count; n += 4 * lanes) {
    const Floats logit_0 = hn::LoadU(d, logits + n);
    const Floats logit_1 = hn::LoadU(d, logits + n + lanes);
    const Floats logit_2 = hn::LoadU(d, logits + n + 2 * lanes);
    const Floats logit_3 = hn::LoadU(d, logits + n + 3 * lanes);
    const Floats largest = hn::Max(hn::Max(logit_0, logit_1), hn::Max(logit_2, logit_3));
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(largest, threshold)))) {
      is_far = watch.look_at(logits, n, n + 4 * lanes) || is_far;
      threshold = hn::Set(d, watch.threshold());
    }
    const Floats first = hn::Add(rough_exp(logit_0, offset), rough_exp(logit_1, offset));
    total = hn::Add(total, hn::Add(first, hn::Add(rough_exp(logit_2, offset), rough_exp(logit_3, offset))));
  }
  is_far = watch.look_at(logits, n, count) || is_far;
  for_lanes(count - n, [&](std::int64_t i, auto part) HWY_ATTR {
    total = hn::Add(total, first_lanes(part, rough_exp(load(part, logits + n + i), offset)));
  });
  *sum = sum_of_lanes(total);
  return is_far;
}

void see_row(const VocabularyTile& p, OutputRow& row, const float* logits) {
  Watch watch = {p, row, worst_of_best(row)};
  if (row.total == 0) begin_row(logits, watch);
  float sum = 0;
  if (sum_and_watch(logits, watch, &sum)) {
    const float maximum = hn::GetLane(hn::MaxOfLanes(FloatTag(), largest_of(logits, p.columns)));
    row.total *= std::exp(double{row.maximum} - maximum);
    row.maximum = maximum;
    sum = sum_of_exponentials(logits, p.columns, maximum);
  }
  row.total += sum;
  if (row.logits != nullptr) std::copy_n(logits, p.columns, row.logits);
}

void see_rows(const VocabularyTile& p, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t row = row_begin; row < row_end; ++row) see_row(p, p.state[row], p.values + row * p.columns);
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
