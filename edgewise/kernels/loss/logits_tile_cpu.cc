// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/loss/logits_tile_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/loss/softmax-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr float kLog2OfE = 0x1.715476p0f;

/// Returns exp(logit - base) with a relative error of 1e-5, for sums. logit - base must be at most 88; differences
/// below -87 count as -87. Subtracting first keeps the error independent of the base: logit * log2(e) of a large logit
/// has few exact digits after the point.
HWY_INLINE Floats approximate_exp(Floats logits, Floats base) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  // y = n + r with |r| <= 1/2. Adding 1.5 * 2^23 rounds y to the integer n and leaves n in the low bits.
  const Floats y = hn::Max(hn::Mul(hn::Sub(logits, base), hn::Set(d, kLog2OfE)), hn::Set(d, -125.5f));
  const Floats shift = hn::Set(d, 0x1.8p23f);
  const Floats shifted = hn::Add(y, shift);
  const Floats r = hn::Sub(y, hn::Sub(shifted, shift));
  // A polynomial for 2^r, interpolated at Chebyshev nodes.
  Floats power = hn::MulAdd(hn::Set(d, 0x1.3cbf6000p-7f), r, hn::Set(d, 0x1.ca1ce200p-5f));
  power = hn::MulAdd(power, r, hn::Set(d, 0x1.ebfa4c00p-3f));
  power = hn::MulAdd(power, r, hn::Set(d, 0x1.62e0c200p-1f));
  power = hn::MulAdd(power, r, hn::Set(d, 0x1.00000000p+0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(d32, power), hn::ShiftLeft<23>(hn::BitCast(d32, shifted))));
}

/// Finds the rare logits of a row, for which summing is not enough: candidates for the top k, and logits more than
/// kMaxAboveBase above the base, which need a new base. The base is usually the largest logit of the first tile.
struct RareLogits {
  const LogitsTile& tile;
  LogSumExpTopK& row;
  float candidate_threshold;  // candidates are greater

  static constexpr float kMaxAboveBase = 40;

  /// Returns the value that every rare logit exceeds.
  float threshold() const { return std::min(candidate_threshold, row.base + kMaxAboveBase); }

  template <class Part>
  HWY_INLINE Floats subtract_penalty(Floats logits, std::int64_t n, Part part) const {
    return tile.penalty == nullptr ? logits : hn::Sub(logits, load(part, tile.penalty + n));
  }

  /// Inserts the candidates among logits [n, end). Returns whether a new base is needed.
  HWY_NOINLINE bool insert_candidates(const float* logits, std::int64_t n, std::int64_t end) {
    const FloatTag d;
    bool needs_base = false;
    for_each_vector(end - n, [&](std::int64_t i, auto part) HWY_ATTR {
      const Floats values = values_or(part, load(part, logits + n + i), kLowest);
      needs_base = needs_base || !hn::AllFalse(d, hn::Gt(values, hn::Set(d, row.base + kMaxAboveBase)));
      if (!hn::AllFalse(d, hn::Gt(values, hn::Set(d, candidate_threshold)))) insert_lanes(values, n + i, part);
    });
    return needs_base;
  }

  template <class Part>
  void insert_lanes(Floats values, std::int64_t n, Part part) {
    const FloatTag d;
    HWY_ALIGN float candidates[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(values_or(part, subtract_penalty(values, n, part), kLowest), d, candidates);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      if (!(candidates[i] > candidate_threshold)) continue;
      row.insert(candidates[i], static_cast<std::int32_t>(tile.first_token + n + static_cast<std::int64_t>(i)));
      candidate_threshold = std::max(candidate_threshold, row.threshold());
    }
  }
};

/// Returns a value that at least `count` logits of the tile exceed, computed from the largest logit of each lane. As
/// the first threshold, this value avoids most insertions in the first tile.
HWY_INLINE float find_lower_bound(Floats lane_maxima, std::int64_t count) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (count == 0 || count > lanes) return kLowest;
  HWY_ALIGN float maxima[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(lane_maxima, d, maxima);
  std::nth_element(maxima, maxima + count - 1, maxima + lanes, [](float a, float b) { return a > b; });
  return std::nextafter(maxima[count - 1], kLowest);
}

/// Sets the base and the threshold of candidates from the first tile.
void start_row(const float* logits, RareLogits& rare) {
  Floats maxima = find_lane_maxima(logits, rare.tile.columns);
  rare.row.base = max_of_lanes(maxima);
  if (rare.tile.penalty != nullptr) {
    maxima = hn::Set(FloatTag(), kLowest);
    for_each_vector(rare.tile.columns, [&](std::int64_t n, auto part) HWY_ATTR {
      maxima = hn::Max(maxima, values_or(part, rare.subtract_penalty(load(part, logits + n), n, part), kLowest));
    });
  }
  rare.candidate_threshold = std::max(rare.candidate_threshold, find_lower_bound(maxima, rare.row.capacity));
}

float sum_exponentials(const float* logits, std::int64_t count, float base) {
  const Floats bases = hn::Set(FloatTag(), base);
  return sum_values(count,
                    [&](std::int64_t n, auto part) HWY_ATTR { return approximate_exp(load(part, logits + n), bases); });
}

/// Sums the exponentials of a tile and inserts its candidates. Usually four vectors have no rare logit, and a single
/// comparison finds this. Returns whether a new base is needed; then the sum is invalid.
bool sum_and_find_rare(const float* logits, RareLogits& rare, float* sum) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t count = rare.tile.columns;
  const Floats base = hn::Set(d, rare.row.base);
  Floats threshold = hn::Set(d, rare.threshold());
  Floats total = hn::Zero(d);
  bool needs_base = false;
  std::int64_t n = 0;
  for (; n + 4 * lanes <= count; n += 4 * lanes) {
    const Floats logit_0 = hn::LoadU(d, logits + n);
    const Floats logit_1 = hn::LoadU(d, logits + n + lanes);
    const Floats logit_2 = hn::LoadU(d, logits + n + 2 * lanes);
    const Floats logit_3 = hn::LoadU(d, logits + n + 3 * lanes);
    const Floats largest = hn::Max(hn::Max(logit_0, logit_1), hn::Max(logit_2, logit_3));
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(largest, threshold)))) {
      needs_base = rare.insert_candidates(logits, n, n + 4 * lanes) || needs_base;
      threshold = hn::Set(d, rare.threshold());
    }
    const Floats first = hn::Add(approximate_exp(logit_0, base), approximate_exp(logit_1, base));
    total = hn::Add(total, hn::Add(first, hn::Add(approximate_exp(logit_2, base), approximate_exp(logit_3, base))));
  }
  needs_base = rare.insert_candidates(logits, n, count) || needs_base;
  for_each_vector(count - n, [&](std::int64_t i, auto part) HWY_ATTR {
    total = hn::Add(total, values_or_zero(part, approximate_exp(load(part, logits + n + i), base)));
  });
  *sum = sum_of_lanes(total);
  return needs_base;
}

void reduce_row(const LogitsTile& p, LogSumExpTopK& row, const float* logits) {
  RareLogits rare = {p, row, row.threshold()};
  if (row.sum == 0) start_row(logits, rare);
  float sum = 0;
  if (sum_and_find_rare(logits, rare, &sum)) {
    const float maximum = find_maximum(logits, p.columns);
    row.sum *= std::exp(double{row.base} - maximum);
    row.base = maximum;
    sum = sum_exponentials(logits, p.columns, maximum);
  }
  row.sum += sum;
  if (row.logits_out != nullptr) std::copy_n(logits, p.columns, row.logits_out);
}

void reduce_rows(const LogitsTile& p, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    reduce_row(p, p.accumulators[row], p.logits + row * p.columns);
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

void reduce_row(const LogitsTile& p, std::int64_t row) {
  LogSumExpTopK& result = p.accumulators[row];
  for (std::int64_t n = 0; n < p.columns; ++n) {
    const float logit = p.logits[row * p.columns + n];
    if (result.logits_out != nullptr) result.logits_out[n] = logit;
    if (logit > result.base) {
      result.sum = result.sum * std::exp(double{result.base} - logit) + 1;
      result.base = logit;
    } else if (logit != kLowest) {  // which adds nothing, also where the base is as low
      result.sum += std::exp(double{logit} - result.base);
    }
    const float candidate = p.penalty == nullptr ? logit : logit - p.penalty[n];
    if (candidate > result.threshold()) result.insert(candidate, static_cast<std::int32_t>(p.first_token + n));
  }
}

}  // namespace

void reduce_logits_tile(const LogitsTile& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) reduce_row(p, row);
}

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(reduce_rows);

void reduce_logits_tile(const LogitsTile& p) {
  const ScopedTimer timer("top");
  if (instruction_set() == InstructionSet::kReference) return reference::reduce_logits_tile(p);
  parallel_for(p.rows, 8192 / (p.columns + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(reduce_rows)(p, begin, end);
  });
}

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
