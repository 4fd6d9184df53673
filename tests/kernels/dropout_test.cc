// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/dropout/dropout_reference.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"

namespace edgewise::kernels {
namespace {

std::vector<float> drop_ones(const Dropout& dropout, std::size_t count) {
  std::vector<float> values(count, 1.0f);
  kernels::dropout(dropout, static_cast<std::int64_t>(count), values.data(), values.data());
  return values;
}

double share_of_zeros(const std::vector<float>& values) {
  return static_cast<double>(std::count(values.begin(), values.end(), 0.0f)) / static_cast<double>(values.size());
}

TEST(Dropout, DropsAShareOfAboutTheRateAndScalesTheRest) {
  constexpr std::size_t kCount = 100'000;
  for (const double rate : {0.0, 0.1, 0.5, 0.9}) {
    const std::vector<float> values = drop_ones({rate, /*seed=*/1, /*stream=*/2}, kCount);

    // Allows five standard deviations of a binomial share.
    EXPECT_NEAR(share_of_zeros(values), rate, 5 * std::sqrt(rate * (1 - rate) / kCount));
    for (const float value : values) EXPECT_TRUE(value == 0.0f || value == static_cast<float>(1 / (1 - rate)));
  }
}

TEST(Dropout, DropsAValueWhoseRandomNumberIsBelowTheRate) {
  const std::vector<float> values = drop_ones({0.25, /*seed=*/9, /*stream=*/4}, 10);

  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_dropped = philox(9, 4, i / 4)[i % 4] < 0x1p30;
    EXPECT_EQ(values[i] == 0.0f, is_dropped) << i;
  }
}

TEST(Dropout, DrawsOtherValuesForAnotherSeedOrStream) {
  const std::vector<float> values = drop_ones({0.5, 1, 1}, 1000);

  EXPECT_NE(values, drop_ones({0.5, 2, 1}, 1000));
  EXPECT_NE(values, drop_ones({0.5, 1, 2}, 1000));
  EXPECT_EQ(values, drop_ones({0.5, 1, 1}, 1000));
}

TEST(Dropout, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  set_num_threads(1);
  const std::vector<float> expected = drop_ones({0.3, 1, 1}, 50'001);
  for (const int threads : {2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_EQ(drop_ones({0.3, 1, 1}, 50'001), expected);
  }
  set_num_threads(threads_before);
}

TEST(Dropout, GivesTheEdgesOfOneHeadTheFactorsOfAFlatArray) {
  auto factors = not_written(101);
  reference::edge_dropout_factors({0.4, 6, 7}, 101, /*num_heads=*/1, factors.data());

  EXPECT_EQ(factors, drop_ones({0.4, 6, 7}, 101));
}

TEST(Dropout, DrawsIndependentFactorsForEachHeadOfAnEdge) {
  constexpr std::int64_t kEdges = 30'000;
  constexpr std::int64_t kHeads = 3;
  auto factors = not_written(kEdges * kHeads);
  reference::edge_dropout_factors({0.5, 1, 2}, kEdges, kHeads, factors.data());

  EXPECT_NEAR(share_of_zeros(factors), 0.5, 0.01);
  for (std::int64_t a = 0; a < kHeads; ++a) {
    for (std::int64_t b = 0; b < a; ++b) {
      std::int64_t agreements = 0;
      for (std::int64_t edge = 0; edge < kEdges; ++edge) {
        agreements += factors[edge * kHeads + a] == factors[edge * kHeads + b] ? 1 : 0;
      }
      EXPECT_NEAR(static_cast<double>(agreements) / kEdges, 0.5, 0.015) << "heads " << a << " and " << b;
    }
  }
}

template <typename T>
std::vector<std::uint8_t> bytes(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

// Counts around one vector, two vectors, and the values that one thread computes.
constexpr std::size_t kCounts[] = {0,  1,  3,  4,  5,  7,   8,   15,   16,   17,   31,    32,
                                   33, 63, 64, 65, 99, 100, 127, 1023, 1024, 1025, 16384, 20'003};

template <typename From, typename To>
void expect_bits_of_reference(const Dropout& dropout) {
  RandomStream random(/*seed=*/3);
  for (const std::size_t count : kCounts) {
    std::vector<From> in(count);
    for (From& value : in) value = From(static_cast<float>(random.normal()));
    std::vector<To> actual(count + 1, To(7.0f));
    std::vector<To> expected = actual;

    reference::dropout(dropout, static_cast<std::int64_t>(count), in.data(), expected.data());
    kernels::dropout(dropout, static_cast<std::int64_t>(count), in.data(), actual.data());

    ASSERT_EQ(bytes(actual), bytes(expected)) << count << " values, rate " << dropout.rate;
  }
}

TEST(Dropout, GivesTheBitsOfTheReferenceOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(instruction_set_name(set));
    for (const double rate : {0.0, 1e-10, 0.1, 0.5, 0.999}) {
      const Dropout dropout = {rate, /*seed=*/0x123456789ABCDEF0, /*stream=*/0xFEDCBA9876543210};
      expect_bits_of_reference<float, float>(dropout);
      expect_bits_of_reference<float, BFloat16>(dropout);
      expect_bits_of_reference<BFloat16, float>(dropout);
      expect_bits_of_reference<BFloat16, BFloat16>(dropout);
      expect_bits_of_reference<double, double>(dropout);
    }
  }
}

TEST(Dropout, MayOverwriteItsInput) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    std::vector<float> in(2000);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
    auto out = not_written(in.size());
    kernels::dropout({0.4, 1, 2}, std::ssize(in), in.data(), out.data());

    kernels::dropout({0.4, 1, 2}, std::ssize(in), in.data(), in.data());

    EXPECT_EQ(in, out);
  }
}

TEST(Cast, RoundsToBf16LikeTheTypeBFloat16) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> in = {
      0.0f,      -0.0f,      1.0f,       1.00390625f, 1.01171875f, -1.005f,       3.39e38f,
      -3.4e38f,  1e-40f,     -1e-45f,    kInfinity,   -kInfinity,  std::nanf(""), std::bit_cast<float>(0x7FFFFFFF),
      65'535.0f, 1.9921874f, 1.9960938f, 2e-38f,      0.1f};
  std::vector<BFloat16> expected(in.begin(), in.end());
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(instruction_set_name(set));
    auto actual = not_written<BFloat16>(in.size());
    cast(std::ssize(in), in.data(), actual.data());
    EXPECT_EQ(bytes(actual), bytes(expected));

    auto converted = not_written(in.size());
    cast(std::ssize(in), actual.data(), converted.data());
    EXPECT_EQ(bytes(converted), bytes(std::vector<float>(actual.begin(), actual.end())));
  }
}

}  // namespace
}  // namespace edgewise::kernels
