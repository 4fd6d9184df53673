// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace edgewise::kernels {

/// What all blocks of a stream of base/random.h's philox() share.
struct PhiloxStream {
  static constexpr int kRounds = 10;

  PhiloxStream(std::uint64_t seed_of_key, std::uint64_t number) : seed(seed_of_key), stream(number) {
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

}  // namespace edgewise::kernels
