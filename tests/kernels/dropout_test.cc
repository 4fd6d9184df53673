// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/dropout/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "tests/kernels/implementations.h"
#include "tests/kernels/random_numbers.h"

namespace edgewise::kernels {
namespace {

/// Returns the results of dropout, and `after` elements that are not written.
template <typename To, typename From>
std::vector<To> run(const Dropout& rule, const std::vector<From>& in, std::size_t after = 0) {
  const Array<From> from(in);
  Array<To> to(in.size() + after);
  call_kernel([&](auto... stream) { dropout(rule, std::ssize(in), from.data(), to.data(), stream...); });
  return to.read();
}

std::vector<float> drop_ones(const Dropout& rule, std::size_t count) {
  return run<float>(rule, std::vector<float>(count, 1.0f));
}

/// Returns the dropout factors of attention weights, [E, H].
std::vector<float> edge_factors(const Dropout& rule, std::int64_t num_edges, std::int64_t num_heads) {
  std::vector<float> factors(static_cast<std::size_t>(num_edges * num_heads));
  for (std::int64_t head = 0; head < num_heads; ++head) {
    reference::EdgeDropout<float> dropout(rule, head, num_heads);
    for (EdgeIndex edge = 0; edge < num_edges; ++edge) factors[edge * num_heads + head] = dropout.factor(edge);
  }
  return factors;
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

TEST(Dropout, GivesTheSameBitsInEverySchedule) {
  const std::vector<float> expected = drop_ones({0.3, 1, 1}, kTestsGpu ? 5'001 : 50'001);
  for_schedules([&] { EXPECT_EQ(drop_ones({0.3, 1, 1}, expected.size()), expected); });
}

TEST(Dropout, GivesTheEdgesOfOneHeadTheFactorsOfAFlatArray) {
  EXPECT_EQ(edge_factors({0.4, 6, 7}, 101, /*num_heads=*/1), drop_ones({0.4, 6, 7}, 101));
}

TEST(Dropout, DrawsIndependentFactorsForEachHeadOfAnEdge) {
  constexpr std::int64_t kEdges = 30'000;
  constexpr std::int64_t kHeads = 3;
  const std::vector<float> factors = edge_factors({0.5, 1, 2}, kEdges, kHeads);

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

// Counts around one vector, two vectors, a warp and a block of a GPU, and the values that one thread computes.
const std::vector<std::int64_t> kCounts =
    kTestsGpu ? std::vector<std::int64_t>{0, 1, 3, 4, 5, 8, 127, 128, 131, 4092, 4096, 4097, 8200}
              : std::vector<std::int64_t>{0,  1,  3,  4,  5,  7,   8,   15,   16,   17,   31,    32,
                                          33, 63, 64, 65, 99, 100, 127, 1023, 1024, 1025, 16384, 20'003};

template <typename From, typename To>
void expect_bits_of_reference(const Dropout& rule) {
  for (const std::int64_t count : kCounts) {
    const std::vector<From> in = normal_numbers<From>(count, 3);
    std::vector<To> expected = HostBuffer<To>(in.size() + 1).read();
    reference::dropout(rule, count, in.data(), expected.data());

    ASSERT_TRUE(has_same_bits(run<To>(rule, in, /*after=*/1), expected)) << count << " values, rate " << rule.rate;
  }
}

TEST(Dropout, GivesTheBitsOfTheReferenceAndWritesNothingElse) {
  for_implementations([] {
    for (const double rate : {0.0, 1e-10, 0.1, 0.5, 0.999}) {
      const Dropout rule = {rate, /*seed=*/0x123456789ABCDEF0, /*stream=*/0xFEDCBA9876543210};
      expect_bits_of_reference<float, float>(rule);
      expect_bits_of_reference<float, BFloat16>(rule);
      expect_bits_of_reference<BFloat16, float>(rule);
      expect_bits_of_reference<BFloat16, BFloat16>(rule);
#ifndef EDGEWISE_TESTS_GPU
      expect_bits_of_reference<double, double>(rule);
#endif
    }
  });
}

TEST(Dropout, MayOverwriteItsInput) {
  for_implementations([] {
    const std::vector<float> in = normal_numbers<float>(2001, 1);
    Array<float> values(in);

    call_kernel([&](auto... stream) { dropout({0.4, 1, 2}, 2001, values.data(), values.data(), stream...); });

    EXPECT_EQ(values.read(), run<float>({0.4, 1, 2}, in));
  });
}

TEST(Cast, RoundsToBf16LikeTheTypeBFloat16) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> in = {0.0f,      -0.0f,      1.0f,       1.00390625f, 1.01171875f, -1.005f,
                           3.39e38f,  -3.4e38f,   1e-40f,     -1e-45f,     kInfinity,   -kInfinity,
                           65'535.0f, 1.9921874f, 1.9960938f, 2e-38f,      0.1f};
  if (!kTestsGpu) in.insert(in.end(), {std::nanf(""), std::bit_cast<float>(0x7FFFFFFF)});  // GPUs have another NaN
  const std::vector<BFloat16> expected(in.begin(), in.end());
  for_implementations([&] {
    const std::vector<BFloat16> actual = run<BFloat16>({.rate = 0.0}, in);
    EXPECT_TRUE(has_same_bits(actual, expected));
    EXPECT_TRUE(has_same_bits(run<float>({.rate = 0.0}, actual), std::vector<float>(actual.begin(), actual.end())));
  });
}

}  // namespace
}  // namespace edgewise::kernels
