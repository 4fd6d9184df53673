// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace edgewise {

/// Returns the four words of block `counter` of a random stream: Philox 4x32-10 (Salmon et al. 2011, "Parallel random
/// numbers: as easy as 1, 2, 3") with the seed as key. Blocks can be computed in any order, so that backward passes
/// draw a dropout mask again instead of storing it. constexpr, so that device code can call this function, too.
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
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

/// Hashes a seed and a value to a new seed: `mix(mix(seed, epoch), step)`. Different values give different seeds.
std::uint64_t mix(std::uint64_t seed, std::uint64_t value);

/// Random numbers that depend only on (seed, stream) and on the number of draws before, not on the standard library or
/// on threads. A copy continues from the original's position. The streams of one seed are independent.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint32_t next_u32();
  std::uint64_t next_u64();

  /// Draws from [0, 1), in steps of 2^-53.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

  /// Draws from the standard normal distribution (Box and Muller 1958).
  double normal();

  /// Draws a whole number from [0, bound), each equally likely. Throws Error when bound is 0.
  std::uint64_t next_below(std::uint64_t bound);

  /// Shuffles uniformly (Fisher and Yates). Unlike std::shuffle, the order does not depend on the standard library.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t count = values.size(); count > 1; --count) {
      using std::swap;
      swap(values[count - 1], values[next_below(count)]);
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
