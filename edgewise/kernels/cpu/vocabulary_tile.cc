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

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE Floats or_lowest(AllLanes /*part*/, Floats values) { return values; }
HWY_INLINE Floats or_lowest(FirstLanes part, Floats values) {
  const FloatTag d;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return hn::IfThenElse(hn::FirstN(d, part.count), values, hn::Set(d, kLowest));
}

/// exp(logit - base) for sums, of logits up to 88 above the base: within 1e-5 of itself. What is below -87 is taken for
/// -87.
class RoughExp {
 public:
  explicit RoughExp(float base) : offset_(hn::Set(FloatTag(), -base * kLog2OfE)) {}

  HWY_INLINE Floats operator()(Floats logits) const {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> d32;
    // 2^(n + r) with |r| <= 1/2. Adding 1.5 * 2^23 rounds to an integer n, which the low bits then hold.
    const Floats y = hn::Max(hn::MulAdd(logits, hn::Set(d, kLog2OfE), offset_), hn::Set(d, -125.5f));
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

 private:
  static constexpr float kLog2OfE = 0x1.715476p0f;

  Floats offset_;
};

HWY_INLINE Floats lowest() { return hn::Set(FloatTag(), -std::numeric_limits<float>::infinity()); }

// A base need not be the largest logit, only so near that nothing overflows: that of the first tile mostly is.
constexpr float kFarAbove = 40;

/// What is out of the ordinary among a tile's logits: candidates, and what is so far above the base that a new one is
/// needed.
struct Watch {
  const VocabularyTile& tile;
  OutputRow& row;
  float worst;  // a candidate must be above it
  bool is_far = false;

  /// What is not above it is of no interest.
  float threshold() const { return std::min(worst, row.maximum + kFarAbove); }

  template <class Part>
  HWY_INLINE Floats penalised(Floats logits, std::int64_t n, Part part) const {
    return tile.penalty == nullptr ? logits : hn::Sub(logits, load(part, tile.penalty + n));
  }

  template <class Part>
  HWY_NOINLINE void look_at(const float* values, std::int64_t n, Part part) {
    const FloatTag d;
    const Floats logits = or_lowest(part, load(part, values + n));
    if (!hn::AllFalse(d, hn::Gt(logits, hn::Set(d, row.maximum + kFarAbove)))) is_far = true;
    if (hn::AllFalse(d, hn::Gt(logits, hn::Set(d, worst)))) return;
    HWY_ALIGN float room[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(or_lowest(part, penalised(logits, n, part)), d, room);
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

Floats largest_of(const float* values, std::int64_t count) {
  Floats largest = lowest();
  for_lanes(count, [&](std::int64_t n, auto part)
                       HWY_ATTR { largest = hn::Max(largest, or_lowest(part, load(part, values + n))); });
  return largest;
}

// Of the first tile: where to take exponentials from, and how good a candidate has to be.
void begin_row(const float* values, std::int64_t count, Watch& watch) {
  Floats largest = largest_of(values, count);
  watch.row.maximum = hn::GetLane(hn::MaxOfLanes(FloatTag(), largest));
  if (watch.tile.penalty != nullptr) {
    largest = lowest();
    for_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR {
      largest = hn::Max(largest, or_lowest(part, watch.penalised(load(part, values + n), n, part)));
    });
  }
  watch.worst = std::max(watch.worst, just_below_the_best(largest, watch.row.capacity));
}

float sum_of_exponentials(const float* values, std::int64_t count, float base) {
  const RoughExp rough_exp(base);
  return sum_lanes(count, [&](std::int64_t n, auto part) HWY_ATTR { return rough_exp(load(part, values + n)); });
}

// The same sum, with an eye on what is out of the ordinary. Four vectors without such a thing, as nearly all are, cost
// one comparison.
float sum_and_watch(const float* values, std::int64_t count, Watch& watch) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const RoughExp rough_exp(watch.row.maximum);
  Floats threshold = hn::Set(d, watch.threshold());
  Floats total_0 = hn::Zero(d);
  Floats total_1 = total_0;
  std::int64_t begin = 0;
  for (; begin + 4 * lanes <= count; begin += 4 * lanes) {
    const Floats logit_0 = hn::LoadU(d, values + begin);
    const Floats logit_1 = hn::LoadU(d, values + begin + lanes);
    const Floats logit_2 = hn::LoadU(d, values + begin + 2 * lanes);
    const Floats logit_3 = hn::LoadU(d, values + begin + 3 * lanes);
    const Floats largest = hn::Max(hn::Max(logit_0, logit_1), hn::Max(logit_2, logit_3));
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(largest, threshold)))) {
      for (int i = 0; i < 4; ++i) watch.look_at(values, begin + i * lanes, AllLanes());
      threshold = hn::Set(d, watch.threshold());
    }
    total_0 = hn::Add(total_0, hn::Add(rough_exp(logit_0), rough_exp(logit_1)));
    total_1 = hn::Add(total_1, hn::Add(rough_exp(logit_2), rough_exp(logit_3)));
  }
  for_lanes(count - begin, [&](std::int64_t n, auto part) HWY_ATTR {
    watch.look_at(values, begin + n, part);
    total_0 = hn::Add(total_0, first_lanes(part, rough_exp(load(part, values + begin + n))));
  });
  return sum_of_lanes(hn::Add(total_0, total_1));
}

void see_row(const VocabularyTile& p, OutputRow& state, const float* values) {
  Watch watch = {p, state, worst_of_best(state)};
  if (state.total == 0) begin_row(values, p.columns, watch);
  float total = sum_and_watch(values, p.columns, watch);
  if (watch.is_far) {
    const float maximum = hn::GetLane(hn::MaxOfLanes(FloatTag(), largest_of(values, p.columns)));
    state.total *= std::exp(double{state.maximum} - maximum);
    state.maximum = maximum;
    total = sum_of_exponentials(values, p.columns, maximum);
  }
  state.total += total;
  if (state.logits != nullptr) std::copy_n(values, p.columns, state.logits);
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
