// SPDX-License-Identifier: Apache-2.0
// Dropout's factors, for kernels that drop what they compute. Included once for each instruction set.
#if defined(EDGEWISE_KERNELS_CPU_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_DROPOUT_INL_H
#undef EDGEWISE_KERNELS_CPU_DROPOUT_INL_H
#else
#define EDGEWISE_KERNELS_CPU_DROPOUT_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "edgewise/kernels/simd/cast-inl.h"
#include "edgewise/kernels/dropout/philox-inl.h"
#include "edgewise/kernels/dropout/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Where dropout_factors() may write beyond the factors asked for.
inline constexpr std::size_t kDropoutFactorsSlack = std::size_t{2} * HWY_MAX_BYTES / sizeof(float) + 4;

/// What a dropout multiplies values by.
class DropoutFactors {
 public:
  explicit DropoutFactors(const Dropout& dropout) : stream_(dropout.seed, dropout.stream), rule_(dropout) {}

  bool are_all_one() const { return rule_.drops_nothing(); }

  /// Writes the factors of the values of `num_blocks` blocks, 4 each: first, first + step, ... Of a head's edges, those
  /// from 4 q on, the first is q * heads + head and the step is heads. May write up to kDropoutFactorsSlack more.
  HWY_INLINE void of_blocks(std::uint64_t first, std::uint64_t step, std::int64_t num_blocks, float* factors) const {
    const hn::ScalableTag<float> d;
    const hn::RebindToUnsigned<decltype(d)> d32;
    const auto threshold = hn::Set(d32, rule_.threshold());
    const auto growth = hn::Set(d, rule_.growth());
    for_philox_words(stream_, first, step, num_blocks, [=](std::int64_t i, auto words) HWY_ATTR {
      hn::StoreU(hn::IfThenZeroElse(hn::RebindMask(d, hn::Lt(words, threshold)), growth), d, factors + i);
    });
  }

  /// The factors of values first to first + count of a flat array, somewhere in `room`, which holds count +
  /// kDropoutFactorsSlack floats.
  HWY_INLINE const float* of_values(std::int64_t first, std::int64_t count, float* room) const {
    const std::int64_t skipped = first % 4;
    of_blocks(static_cast<std::uint64_t>(first / 4), 1, (skipped + count + 3) / 4, room);
    return room + skipped;
  }

 private:
  PhiloxStream stream_;
  DropoutRule<float> rule_;
};

/// Calls body(i, part, factor) for vector after vector of values begin to end of a flat array.
template <class Body>
HWY_INLINE void for_dropped_lanes(const DropoutFactors& factors, std::int64_t begin, std::int64_t end, Body&& body) {
  constexpr std::int64_t kChunk = 1024;  // values whose factors stay in the first cache
  if (factors.are_all_one()) {
    const Floats one = hn::Set(FloatTag(), 1.0f);
    for_lanes(end - begin, [&](std::int64_t i, auto part) HWY_ATTR { body(begin + i, part, one); });
    return;
  }
  HWY_ALIGN float room[kChunk + kDropoutFactorsSlack];
  for (std::int64_t chunk = begin; chunk < end; chunk += kChunk) {
    const std::int64_t size = std::min(kChunk, end - chunk);
    const float* factor = factors.of_values(chunk, size, room);
    for_lanes(size,
              [&](std::int64_t i, auto part) HWY_ATTR { body(chunk + i, part, hn::LoadU(FloatTag(), factor + i)); });
  }
}

/// out[i] = in[i] * factor of value i, for values begin to end.
template <typename From, typename To>
HWY_INLINE void drop(const DropoutFactors& factors, std::int64_t begin, std::int64_t end, const From* in, To* out) {
  for_dropped_lanes(factors, begin, end, [&](std::int64_t i, auto part, Floats factor) HWY_ATTR {
    store(part, hn::Mul(load(part, in + i), factor), out + i);
  });
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_CPU_DROPOUT_INL_H
