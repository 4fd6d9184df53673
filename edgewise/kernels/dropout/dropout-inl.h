// SPDX-License-Identifier: Apache-2.0
// Dropout factors, for kernels that apply dropout to their results. Included once for each instruction set.
#if defined(EDGEWISE_KERNELS_DROPOUT_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_DROPOUT_DROPOUT_INL_H
#undef EDGEWISE_KERNELS_DROPOUT_DROPOUT_INL_H
#else
#define EDGEWISE_KERNELS_DROPOUT_DROPOUT_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/dropout/philox-inl.h"
#include "edgewise/kernels/simd/load_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The number of floats that DropoutFactors may write after the requested factors.
inline constexpr std::size_t kDropoutFactorsSlack = std::size_t{2} * HWY_MAX_BYTES / sizeof(float) + 4;

/// Computes the factors of a dropout: 0 for a dropped value, otherwise 1 / (1 - rate).
class DropoutFactors {
 public:
  explicit DropoutFactors(const Dropout& dropout) : stream_(dropout.seed, dropout.stream), rule_(dropout) {}

  /// Returns whether all factors are 1.
  bool is_identity() const { return rule_.is_identity(); }

  /// Writes the factors of the `num_blocks` Philox blocks first, first + step and so on, 4 factors per block. For the
  /// edges of a head from edge 4 q on, `first` is q * heads + head and `step` is heads. May write up to
  /// kDropoutFactorsSlack more floats.
  HWY_INLINE void fill_blocks(std::uint64_t first, std::uint64_t step, std::int64_t num_blocks, float* factors) const {
    const hn::ScalableTag<float> d;
    const hn::RebindToUnsigned<decltype(d)> d32;
    const auto threshold = hn::Set(d32, rule_.threshold());
    const auto scale = hn::Set(d, rule_.scale());
    for_philox_words(stream_, first, step, num_blocks, [=](std::int64_t i, auto words) HWY_ATTR {
      hn::StoreU(hn::IfThenZeroElse(hn::RebindMask(d, hn::Lt(words, threshold)), scale), d, factors + i);
    });
  }

  /// Computes the factors of values [first, first + count) of a flat array. Returns a pointer to them in `buffer`,
  /// which has count + kDropoutFactorsSlack floats.
  HWY_INLINE const float* fill_range(std::int64_t first, std::int64_t count, float* buffer) const {
    const std::int64_t skipped = first % 4;
    fill_blocks(static_cast<std::uint64_t>(first / 4), 1, (skipped + count + 3) / 4, buffer);
    return buffer + skipped;
  }

 private:
  PhiloxStream stream_;
  DropoutRule<float> rule_;
};

/// Calls body(i, part, factor) for each vector of values [begin, end) of a flat array.
template <class Body>
HWY_INLINE void for_lanes_with_dropout(const DropoutFactors& factors, std::int64_t begin, std::int64_t end,
                                       Body&& body) {
  constexpr std::int64_t kChunk = 1024;  // the factors of a chunk stay in the first-level cache
  if (factors.is_identity()) {
    const Floats one = hn::Set(FloatTag(), 1.0f);
    for_each_vector(end - begin, [&](std::int64_t i, auto part) HWY_ATTR { body(begin + i, part, one); });
    return;
  }
  HWY_ALIGN float buffer[kChunk + kDropoutFactorsSlack];
  for (std::int64_t chunk = begin; chunk < end; chunk += kChunk) {
    const std::int64_t size = std::min(kChunk, end - chunk);
    const float* factor = factors.fill_range(chunk, size, buffer);
    for_each_vector(
        size, [&](std::int64_t i, auto part) HWY_ATTR { body(chunk + i, part, hn::LoadU(FloatTag(), factor + i)); });
  }
}

/// Writes out[i] = in[i] * factor of value i for i in [begin, end).
template <typename From, typename To>
HWY_INLINE void apply_dropout(const DropoutFactors& factors, std::int64_t begin, std::int64_t end, const From* in,
                              To* out) {
  for_lanes_with_dropout(factors, begin, end, [&](std::int64_t i, auto part, Floats factor) HWY_ATTR {
    store(part, hn::Mul(load(part, in + i), factor), out + i);
  });
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_DROPOUT_DROPOUT_INL_H
