// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace edgewise {

/// The four words of block `counter` of a stream: Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy
/// as 1, 2, 3"), keyed by the seed. Any block can be had at any time, so a mask is drawn again instead of stored.
inline std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  auto high = [](std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); };

  std::array<std::uint32_t, 4> block = {low(counter), high(counter), low(stream), high(stream)};
  std::uint32_t first_key = low(seed);
  std::uint32_t second_key = high(seed);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * block[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * block[2];
    block = {high(second) ^ block[1] ^ first_key, low(second), high(first) ^ block[3] ^ second_key, low(first)};
    first_key += 0x9E3779B9;
    second_key += 0xBB67AE85;
  }
  return block;
}

/// Derives from a seed one that has nothing to do with it, for each value another: `mix(mix(seed, epoch), step)`.
std::uint64_t mix(std::uint64_t seed, std::uint64_t value);

/// Random numbers that depend on (seed, stream) and on how many were drawn, on nothing else: not on the machine's
/// standard library, nor on threads. A copy goes on from where the original is. Streams of one seed are independent.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint32_t next_u32();
  std::uint64_t next_u64();

  /// In [0, 1), in steps of 2^-53.
  double uniform();

  /// From the standard normal distribution (Box and Muller 1958).
  double normal();

  /// In [0, bound), each number equally likely. Throws Error when bound is 0.
  std::uint64_t below(std::uint64_t bound);

  /// Every order equally likely (Fisher and Yates). Own code, because the standard library's order is not specified.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t count = values.size(); count > 1; --count) {
      using std::swap;
      swap(values[count - 1], values[below(count)]);
    }
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
  std::array<std::uint32_t, 4> block_{};
  std::size_t used_ = 4;
};

}  // namespace edgewise
