// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "tests/base/support.h"

namespace edgewise {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The test vectors of Philox's authors (Random123, kat_vectors, philox4x32 10).
TEST(Philox, ReturnsThePublishedWords) {
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  EXPECT_EQ(philox(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(kOnes, kOnes, kOnes), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, ReturnsThePhiloxBlocksInOrder) {
  RandomStream random(7, 3);
  for (std::uint64_t counter = 0; counter < 3; ++counter) {
    for (const std::uint32_t word : philox(7, 3, counter)) EXPECT_EQ(random.next_u32(), word);
  }
}

TEST(RandomStream, PutsTheFirstWordIntoTheLowHalf) {
  const Block block = philox(5, 0, 0);
  EXPECT_EQ(RandomStream(5).next_u64(), block[0] | std::uint64_t{block[1]} << 32);
}

TEST(RandomStream, CopiesContinueFromTheOriginalsPosition) {
  RandomStream random(1);
  random.next_u32();
  RandomStream copy = random;

  for (int i = 0; i < 10; ++i) EXPECT_EQ(copy.next_u64(), random.next_u64());
}

TEST(RandomStream, StreamsOfOneSeedDiffer) {
  std::set<std::uint64_t> first_numbers;
  for (std::uint64_t stream = 0; stream < 1000; ++stream) first_numbers.insert(RandomStream(1, stream).next_u64());
  EXPECT_EQ(first_numbers.size(), 1000u);
}

// The bounds are five standard errors. The seed is fixed, so that the result never changes.
TEST(RandomStream, UniformHasTheMomentsOfItsDistribution) {
  constexpr int kDraws = 100'000;
  RandomStream random(11);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kDraws));
}

TEST(RandomStream, NormalHasTheMomentsAndTailsOfItsDistribution) {
  constexpr int kDraws = 100'000;
  RandomStream random(12);
  double sum = 0;
  double squares = 0;
  double fourth_powers = 0;
  int beyond_two = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
    fourth_powers += std::pow(value, 4);
    beyond_two += std::abs(value) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 5 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth_powers / kDraws, 3.0, 5 * std::sqrt(96.0 / kDraws));
  EXPECT_NEAR(1.0 * beyond_two / kDraws, 0.0455, 5 * std::sqrt(0.0455 / kDraws));
}

TEST(RandomStream, NextBelowDrawsEachNumberEquallyOften) {
  constexpr int kDraws = 70'000;
  RandomStream random(13);
  std::array<int, 7> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[random.next_below(7)];

  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7, 5 * std::sqrt(kDraws / 7.0));
}

// If next_below returned a 64-bit number modulo the bound, half of the draws would be in the lower third.
TEST(RandomStream, NextBelowIsNotBiasedForLargeBounds) {
  constexpr std::uint64_t kBound = 3ull << 62;
  constexpr int kDraws = 30'000;
  RandomStream random(14);
  int in_lower_third = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t value = random.next_below(kBound);
    ASSERT_LT(value, kBound);
    in_lower_third += value < kBound / 3 ? 1 : 0;
  }
  EXPECT_NEAR(in_lower_third, kDraws / 3, 5 * std::sqrt(kDraws * 2.0 / 9));
}

TEST(RandomStream, NextBelowRejectsABoundOfZero) {
  EXPECT_EQ(error_of([] { RandomStream(1).next_below(0); }), "next_below: bound is 0, needs at least 1");
}

TEST(RandomStream, ShuffleDrawsEachOrderEquallyOften) {
  constexpr int kDraws = 24'000;
  RandomStream random(15);
  std::map<std::string, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<char> letters = {'a', 'b', 'c', 'd'};
    random.shuffle(letters);
    ++counts[std::string(letters.begin(), letters.end())];
  }
  ASSERT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000.0)) << order;
}

// A run that another build resumes must get the same order; the expected numbers come from an early build.
TEST(RandomStream, ShuffleGivesTheSameOrderEverywhere) {
  std::vector<int> numbers(8);
  std::iota(numbers.begin(), numbers.end(), 0);
  RandomStream(42).shuffle(numbers);
  EXPECT_EQ(numbers, (std::vector<int>{2, 6, 4, 1, 0, 7, 5, 3}));
}

TEST(Mix, ReturnsDifferentNumbersForDifferentSeedsAndValues) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t value = 0; value < 100; ++value) seeds.insert(mix(seed, value));
  }
  EXPECT_EQ(seeds.size(), 10'000u);
}

TEST(Mix, FlipsHalfTheBitsWhenOneBitOfTheValueFlips) {
  int flipped = 0;
  for (int bit = 0; bit < 64; ++bit) flipped += std::popcount(mix(1, 0) ^ mix(1, std::uint64_t{1} << bit));
  EXPECT_NEAR(flipped, 64 * 32, 5 * std::sqrt(64 * 16.0));
}

}  // namespace
}  // namespace edgewise
