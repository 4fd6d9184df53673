// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/reference/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "edgewise/base/threads.h"

namespace edgewise::kernels {
namespace {

std::vector<float> dropped_ones(const WeightDropout& dropout, std::size_t count) {
  std::vector<float> values(count, 1.0f);
  reference::dropout(dropout, static_cast<std::int64_t>(count), values.data(), values.data());
  return values;
}

double share_of_zeros(const std::vector<float>& values) {
  return static_cast<double>(std::count(values.begin(), values.end(), 0.0f)) / static_cast<double>(values.size());
}

TEST(Dropout, DropsTheShareAskedForAndScalesTheRest) {
  constexpr std::size_t kCount = 100'000;
  for (const double rate : {0.0, 0.1, 0.5, 0.9}) {
    const std::vector<float> values = dropped_ones({rate, /*seed=*/1, /*stream=*/2}, kCount);

    // Five standard deviations of a binomial share.
    EXPECT_NEAR(share_of_zeros(values), rate, 5 * std::sqrt(rate * (1 - rate) / kCount));
    for (const float value : values) EXPECT_TRUE(value == 0.0f || value == static_cast<float>(1 / (1 - rate)));
  }
}

TEST(Dropout, ComparesEachWordOfTheStreamWithTheRate) {
  const std::vector<float> values = dropped_ones({0.25, /*seed=*/9, /*stream=*/4}, 10);

  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_dropped = philox(9, 4, i / 4)[i % 4] < 0x1p30;
    EXPECT_EQ(values[i] == 0.0f, is_dropped) << i;
  }
}

TEST(Dropout, DrawsOtherValuesForAnotherSeedOrStream) {
  const std::vector<float> values = dropped_ones({0.5, 1, 1}, 1000);

  EXPECT_NE(values, dropped_ones({0.5, 2, 1}, 1000));
  EXPECT_NE(values, dropped_ones({0.5, 1, 2}, 1000));
  EXPECT_EQ(values, dropped_ones({0.5, 1, 1}, 1000));
}

TEST(Dropout, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  set_num_threads(1);
  const std::vector<float> expected = dropped_ones({0.3, 1, 1}, 50'001);
  for (const int threads : {2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_EQ(dropped_ones({0.3, 1, 1}, 50'001), expected);
  }
  set_num_threads(threads_before);
}

TEST(Dropout, OfEdgesOfOneHeadIsThatOfAFlatArray) {
  std::vector<float> factors(101);
  reference::edge_dropout_factors({0.4, 6, 7}, 101, /*num_heads=*/1, factors.data());

  EXPECT_EQ(factors, dropped_ones({0.4, 6, 7}, 101));
}

TEST(Dropout, OfEdgesDrawsHeadsApart) {
  constexpr std::int64_t kEdges = 30'000;
  constexpr std::int64_t kHeads = 3;
  std::vector<float> factors(kEdges * kHeads);
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

}  // namespace
}  // namespace edgewise::kernels
