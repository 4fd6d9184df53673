// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/vocabulary_tile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/cpu/best_tokens.h"
#include "edgewise/kernels/cpu/scratch.h"
#include "edgewise/kernels/instruction_set.h"
#include "edgewise/kernels/reference/vocabulary_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/cpu/vocabulary_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/cpu/add_norm-inl.h"
#include "edgewise/kernels/cpu/exp-inl.h"
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

// The tile's logits of one row in floats, and the largest of them.
const float* logits_of(const VocabularyTile& p, std::int64_t row, float* room, float& maximum) {
  const FloatTag d;
  Floats largest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const float* values = room;
  if (p.product.sums == nullptr) {
    values = p.values + row * p.columns;
    for_lanes(p.columns, [&](std::int64_t n, auto part)
                             HWY_ATTR { largest = hn::Max(largest, or_lowest(part, load(part, values + n))); });
  } else {
    const std::int32_t* sums = p.product.sums + row * p.columns;
    const float scale = p.product.row_scale[row];
    for_lanes(p.columns, [&](std::int64_t n, auto part) HWY_ATTR {
      const Floats logit =
          hn::Add(scaled_sums(part, sums + n, scale, p.product.column_scale + n), load(part, p.product.bias + n));
      largest = hn::Max(largest, or_lowest(part, logit));
      store(part, logit, room + n);
    });
  }
  maximum = hn::GetLane(hn::MaxOfLanes(d, largest));
  return values;
}

void add_exponentials(OutputRow& state, const float* logits, std::int64_t count, float maximum) {
  if (maximum > state.maximum) {
    state.total *= std::exp(double{state.maximum} - maximum);
    state.maximum = maximum;
  }
  const Floats base = hn::Set(FloatTag(), state.maximum);
  state.total += sum_lanes(
      count, [&](std::int64_t n, auto part) HWY_ATTR { return exp_lanes(hn::Sub(load(part, logits + n), base)); });
}

// A vector without one that is good enough, as nearly all are, costs one comparison.
void find_best(const VocabularyTile& p, OutputRow& state, const float* logits) {
  const FloatTag d;
  float worst = worst_of_best(state);
  for_lanes(p.columns, [&](std::int64_t n, auto part) HWY_ATTR {
    Floats values = load(part, logits + n);
    if (p.penalty != nullptr) values = hn::Sub(values, load(part, p.penalty + n));
    values = or_lowest(part, values);
    if (hn::AllFalse(d, hn::Gt(values, hn::Set(d, worst)))) return;
    HWY_ALIGN float room[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(values, d, room);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      if (!(room[i] > worst)) continue;
      insert(state, room[i], static_cast<std::int32_t>(p.first_token + n + static_cast<std::int64_t>(i)));
      worst = worst_of_best(state);
    }
  });
}

void see_rows(const VocabularyTile& p, std::int64_t row_begin, std::int64_t row_end) {
  Scratch& scratch = Scratch::of_this_thread();
  scratch.reset();
  float* room = scratch.take(static_cast<std::size_t>(p.columns));
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    OutputRow& state = p.state[row];
    float maximum;
    const float* logits = logits_of(p, row, room, maximum);
    add_exponentials(state, logits, p.columns, maximum);
    if (!(maximum <= worst_of_best(state))) find_best(p, state, logits);
    if (state.logits != nullptr) std::copy_n(logits, p.columns, state.logits);
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
