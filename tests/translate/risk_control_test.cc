// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/risk_control.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "edgewise/base/random.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

TEST(BettingPValue, IsOneThroughTheLargestCapital) {
  // With two losses and a level of exp(-1), the bets are 2 and 1 / sqrt((0.25 + 0.04) / 2), unless limited.
  const double level = std::exp(-1.0);
  const double second_bet = 1 / std::sqrt((0.25 + 0.04) / 2);
  EXPECT_NEAR(betting_p_value(std::vector{-0.4, 0.1}, 0.8, level), 1 / ((1 + 2 * 1.2) * (1 + second_bet * 0.7)), 1e-12);
  EXPECT_NEAR(betting_p_value(std::vector{-0.4, 0.9}, 0.8, level), 1 / (1 + 2 * 1.2), 1e-12);
  EXPECT_NEAR(betting_p_value(std::vector{-0.4}, 0.2, level), 1 / (1 + 0.75 / 0.8 * 0.6), 1e-12);
  EXPECT_EQ(betting_p_value(std::vector{0.3, 0.2}, 0.2, level), 1);
  EXPECT_EQ(betting_p_value({}, 0.2, level), 1);
}

TEST(BettingPValue, GrowsWithTheLossesAndFallsWithTheLimitAndTheNumberOfLosses) {
  for (double loss = -0.05; loss < 0.04; loss += 0.01) {
    const std::vector<double> losses(300, loss);
    EXPECT_LT(betting_p_value(losses, 0.05, 0.1), betting_p_value(std::vector<double>(300, loss + 0.01), 0.05, 0.1));
    EXPECT_GT(betting_p_value(losses, 0.05, 0.1), betting_p_value(losses, 0.06, 0.1));
    EXPECT_GT(betting_p_value(losses, 0.05, 0.1), betting_p_value(std::vector<double>(900, loss), 0.05, 0.1));
  }
}

TEST(BettingPValue, IsSmallAtMostAsOftenAsItSaysForLossesWhoseMeanIsTheLimit) {
  constexpr int kDraws = 4000;
  RandomStream random(/*seed=*/1);
  int rejected = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> losses;
    for (int i = 0; i < 200; ++i) {
      const bool is_changed = random.next_below(10) == 0;
      losses.push_back(!is_changed ? 0 : random.next_below(100) < 75 ? 1 : -1);  // their mean is 0.05
    }
    rejected += betting_p_value(losses, 0.05, 0.1) <= 0.1 ? 1 : 0;
  }
  EXPECT_LE(rejected, 0.1 * kDraws);
  EXPECT_GT(rejected, 0.02 * kDraws);
}

TEST(BettingPValue, RefusesLossesThatAreNotBounded) {
  EXPECT_EQ(error_of([] {
              betting_p_value(std::vector{0.5, 1.5}, 0.1, 0.05);
            }),
            "betting_p_value: losses has 1.5, needs numbers from -1 to 1");
}

}  // namespace
}  // namespace edgewise
