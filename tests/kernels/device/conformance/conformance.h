// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "tests/kernels/device/conformance/primitives.h"
#include "tests/support/device_buffer.h"

// Runs each primitive with fixed inputs. The emulator's words are the definition, and scripts/compare_conformance
// compares them with the words of a device.
namespace edgewise::kernels::gpu::conformance {

struct Words {
  std::vector<std::uint32_t> in;   // [kThreads, kInputs]
  std::vector<std::uint32_t> out;  // [kThreads, kOutputs]
};

inline std::vector<std::uint32_t> random_words(int count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  for (std::uint32_t& word : words) word = random.next_u32();
  return words;
}

inline constexpr int kSpecialFloats = 12;

/// Returns normally distributed floats after kSpecialFloats special ones.
inline std::vector<std::uint32_t> float_words(int count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::uint32_t> words = {
      0x00000000, 0x80000000, 0x3F800000, 0xBF800000,  // 0, -0, 1, -1
      0x00000001, 0x007FFFFF, 0x00800000, 0x0D000000,  // subnormal numbers, the smallest normal one, 2^-101
      0x7F7FFFFF, 0x3F808000, 0x3F818000, 0x3F808001,  // the largest number, two ties of rounding to bf16, above a tie
  };
  while (words.size() < static_cast<std::size_t>(count)) {
    words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(random.normal())));
  }
  words.resize(static_cast<std::size_t>(count));
  return words;
}

/// Returns `count` words of two BFloat16: small integers, or positive numbers, whose sums do not cancel.
inline std::vector<std::uint32_t> bf16_words(int count, bool is_integer, std::uint64_t seed) {
  RandomStream random(seed);
  auto number = [&] {
    const double value = is_integer ? static_cast<double>(random.next_below(9)) - 4 : std::abs(random.normal());
    return std::uint32_t{std::bit_cast<std::uint16_t>(BFloat16(static_cast<float>(value)))};
  };
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  for (std::uint32_t& word : words) {
    const std::uint32_t low = number();
    word = low | number() << 16;
  }
  return words;
}

/// Moves the numbers of [0.5, 2], where the error of log2_approximate() is absolute, to [4, 16].
inline std::vector<std::uint32_t> positive_words(int count, std::uint64_t seed) {
  std::vector<std::uint32_t> words = float_words(count, seed);
  for (std::uint32_t& word : words) {
    const float value = std::abs(std::bit_cast<float>(word));
    word = std::bit_cast<std::uint32_t>(value >= 0.5f && value <= 2.0f ? value * 8 : value);
  }
  return words;
}

/// Returns `words_per_thread` words for each thread: tiles of BFloat16, and 4 floats at the end.
inline std::vector<std::uint32_t> tile_words(int words_per_thread, bool is_integer, std::uint64_t seed) {
  std::vector<std::uint32_t> words = bf16_words(kThreads * words_per_thread, is_integer, seed);
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int i = words_per_thread - 4; i < words_per_thread; ++i) {
      const auto sum = static_cast<float>(i);
      words[static_cast<std::size_t>(thread * words_per_thread + i)] = std::bit_cast<std::uint32_t>(sum);
    }
  }
  return words;
}

inline std::vector<std::uint32_t> make_inputs(Inputs kind, int words_per_thread) {
  const int count = kThreads * words_per_thread;
  switch (kind) {
    case Inputs::kFloats:
      return float_words(count, 2);
    case Inputs::kFiniteFloats: {
      const std::vector<std::uint32_t> words = float_words(count + kSpecialFloats, 3);
      return {words.begin() + kSpecialFloats, words.end()};
    }
    case Inputs::kPositive:
      return positive_words(count, 4);
    case Inputs::kIntegerTiles:
      return tile_words(words_per_thread, true, 5);
    case Inputs::kPositiveTiles:
      return tile_words(words_per_thread, false, 6);
    case Inputs::kWords:
      break;
  }
  return random_words(count, 1);
}

/// Runs a primitive in one block.
template <class P>
Words run_primitive(P /*primitive*/) {
  Words words{.in = make_inputs(P::kKind, P::kInputs), .out = {}};
  const device::Buffer<std::uint32_t> in(words.in);
  device::Buffer<std::uint32_t> out(static_cast<std::size_t>(kThreads * P::kOutputs));
  launch(PrimitiveKernel<P>{in.data(), out.data()}, 1, device::Stream());
  words.out = out.read();
  return words;
}

/// Returns a line for each primitive: name, allowed error in units of the last place, and the words of all threads,
/// separated by tabs.
inline std::string describe_conformance() {
  std::string text;
  for_each_primitive([&](auto primitive) {
    text += std::string(primitive.kName) + "\t" + std::to_string(primitive.kUlp);
    for (const std::uint32_t word : run_primitive(primitive).out) {
      char hexadecimal[16];
      std::snprintf(hexadecimal, sizeof(hexadecimal), "\t%08x", static_cast<unsigned>(word));
      text += hexadecimal;
    }
    text += "\n";
  });
  return text;
}

}  // namespace edgewise::kernels::gpu::conformance
