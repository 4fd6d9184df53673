// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/random.h"

#include <cmath>
#include <numbers>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Computes SplitMix64's output function (Steele, Lea, Flood 2014): a bijection, in which each input bit flips about
/// half of the output bits.
std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;

}  // namespace

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  return scramble(scramble(seed + kGoldenRatio) + (value + 1) * kGoldenRatio);
}

std::uint32_t RandomStream::next_u32() {
  if (used_ == block_.size()) {
    block_ = philox(seed_, stream_, counter_++);
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t RandomStream::next_u64() {
  const std::uint64_t low = next_u32();
  return low | std::uint64_t{next_u32()} << 32;
}

double RandomStream::normal() {
  // 1 - uniform() is never 0, whose logarithm is infinite. Box and Muller's second number is discarded, so that each
  // call draws the same number of words.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t RandomStream::next_below(std::uint64_t bound) {
  check(bound > 0, "next_below: bound is 0, needs at least 1");
  // `surplus` is 2^64 mod bound: without the `surplus` smallest numbers, the count of numbers is a multiple of bound.
  const std::uint64_t surplus = (0 - bound) % bound;
  std::uint64_t number = next_u64();
  while (number < surplus) number = next_u64();
  return number % bound;
}

}  // namespace edgewise
