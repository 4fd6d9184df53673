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
#include <array>
#include <cstddef>
#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// A stream of random blocks of philox(), with the keys of the rounds.
struct PhiloxStream {
  static constexpr int kRounds = 10;

  PhiloxStream(std::uint64_t key, std::uint64_t number) : seed(key), stream(number) {
    auto first = static_cast<std::uint32_t>(seed);
    auto second = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < kRounds; ++round) {
      first_key[round] = first;
      second_key[round] = second;
      first += 0x9E3779B9;
      second += 0xBB67AE85;
    }
  }

  std::uint64_t seed;
  std::uint64_t stream;
  std::array<std::uint32_t, kRounds> first_key;
  std::array<std::uint32_t, kRounds> second_key;
};

/// Computes `num_blocks` blocks of 4 random words of 32 bits: the blocks first, first + step, first + 2 step and so on.
/// Calls body(i, words) for each vector of words; the first lane of the vector is word i. Rounds the number of blocks
/// up to whole pairs of vectors. `step` must be below 2^28.
#if HWY_TARGET == HWY_SCALAR
template <class Body>
HWY_INLINE void for_philox_words(const PhiloxStream& stream, std::uint64_t first, std::uint64_t step,
                                 std::int64_t num_blocks, Body&& body) {
  const hn::ScalableTag<std::uint32_t> d32;
  for (std::int64_t block = 0; block < num_blocks; ++block) {
    const auto words = philox(stream.seed, stream.stream, first + static_cast<std::uint64_t>(block) * step);
    for (std::int64_t i = 0; i < 4; ++i) body(4 * block + i, hn::Set(d32, words[static_cast<std::size_t>(i)]));
  }
}

#else

// Computes Lanes(d32) / 2 blocks, whose numbers are in the 64-bit lanes of `counter`.
template <class D32, class V = hn::Vec<D32> >
HWY_INLINE void fill_philox_words(D32 d32, const PhiloxStream& stream, hn::Vec<D32> counter, V& words_0, V& words_1) {
  const hn::Repartition<std::uint64_t, D32> d64;

  // Each word is in the lower half of a 64-bit lane, where MulEven() reads it; upper halves are undefined.
  V a = counter;
  V b = hn::Shuffle2301(counter);
  V c = hn::Set(d32, static_cast<std::uint32_t>(stream.stream));
  V d = hn::Set(d32, static_cast<std::uint32_t>(stream.stream >> 32));
  const V first_factor = hn::Set(d32, 0xD2511F53);
  const V second_factor = hn::Set(d32, 0xCD9E8D57);
  for (int round = 0; round < PhiloxStream::kRounds; ++round) {
    const V first_product = hn::BitCast(d32, hn::MulEven(a, first_factor));
    const V second_product = hn::BitCast(d32, hn::MulEven(c, second_factor));
    a = hn::Xor3(hn::Shuffle2301(second_product), b, hn::Set(d32, stream.first_key[round]));
    b = second_product;
    c = hn::Xor3(hn::Shuffle2301(first_product), d, hn::Set(d32, stream.second_key[round]));
    d = first_product;
  }

  const auto a_b = hn::BitCast(d64, hn::OddEven(hn::Shuffle2301(b), a));
  const auto c_d = hn::BitCast(d64, hn::OddEven(hn::Shuffle2301(d), c));
  words_0 = hn::BitCast(d32, hn::InterleaveLower(d64, a_b, c_d));
  words_1 = hn::BitCast(d32, hn::InterleaveUpper(d64, a_b, c_d));
}

template <class Body>
HWY_INLINE void for_philox_words(const PhiloxStream& stream, std::uint64_t first, std::uint64_t step,
                                 std::int64_t num_blocks, Body&& body) {
  const hn::ScalableTag<std::uint32_t> d32;
  const hn::Repartition<std::uint64_t, decltype(d32)> d64;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d32));
  const auto blocks_at_once = lanes / 2;

  // Even lanes compute the first half of the blocks, so that interleaving within 128 bits orders the words.
  const auto lane = hn::Iota(d64, 0);
  const auto is_odd = hn::TestBit(lane, hn::Set(d64, 1));
  const auto half = hn::Set(d64, static_cast<std::uint64_t>(blocks_at_once / 2));
  const auto number = hn::BitCast(d32, hn::Add(hn::IfThenElseZero(is_odd, half), hn::ShiftRight<1>(lane)));
  const auto offset = hn::MulEven(number, hn::Set(d32, static_cast<std::uint32_t>(step)));

  auto words_0 = hn::Undefined(d32);
  auto words_1 = hn::Undefined(d32);
  for (std::int64_t block = 0; block < num_blocks; block += blocks_at_once) {
    const auto counter = hn::Add(hn::Set(d64, first + static_cast<std::uint64_t>(block) * step), offset);
    fill_philox_words(d32, stream, hn::BitCast(d32, counter), words_0, words_1);
    body(4 * block, words_0);
    body(4 * block + lanes, words_1);
  }
}

#endif

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
