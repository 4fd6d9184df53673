// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/risk_control.h"

#include <gtest/gtest.h>

#include "edgewise/base/random.h"

namespace edgewise {
namespace {

// The numbers were computed with exact binomial coefficients.
TEST(HoeffdingBentkus, IsTheSmallerOfBothBounds) {
  EXPECT_NEAR(hoeffding_bentkus_p_value(0, 0.05, 100), 0.005920529220334054, 1e-12);    // Hoeffding's
  EXPECT_NEAR(hoeffding_bentkus_p_value(0.02, 0.05, 200), 0.07188985588568106, 1e-12);  // Bentkus's
  EXPECT_NEAR(hoeffding_bentkus_p_value(0.004, 0.01, 1000), 0.07797771984120143, 1e-12);
  EXPECT_EQ(hoeffding_bentkus_p_value(0.06, 0.05, 50), 1);
  EXPECT_EQ(hoeffding_bentkus_p_value(1, 0.05, 50), 1);
}

TEST(HoeffdingBentkus, GrowsWithTheLossAndFallsWithTheLimitAndTheNumberOfLosses) {
  for (double loss = 0; loss < 0.2; loss += 0.01) {
    EXPECT_LE(hoeffding_bentkus_p_value(loss, 0.1, 300), hoeffding_bentkus_p_value(loss + 0.01, 0.1, 300));
    EXPECT_GE(hoeffding_bentkus_p_value(loss, 0.1, 300), hoeffding_bentkus_p_value(loss, 0.15, 300));
    if (loss < 0.1) {
      EXPECT_GT(hoeffding_bentkus_p_value(loss, 0.1, 300), hoeffding_bentkus_p_value(loss, 0.1, 3000));
    }
  }
}

TEST(HoeffdingBentkus, IsSmallAtMostAsOftenAsItSaysForLossesWhoseMeanIsTheLimit) {
  constexpr double kLimit = 0.05;
  constexpr int kDraws = 4000;
  RandomStream random(/*seed=*/1);
  int rejected = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double sum = 0;
    for (int i = 0; i < 200; ++i) sum += random.next_below(1000) < 50 ? 1 : 0;
    rejected += hoeffding_bentkus_p_value(sum / 200, kLimit, 200) <= 0.1 ? 1 : 0;
  }
  EXPECT_LE(rejected, 0.1 * kDraws);
  EXPECT_GT(rejected, 0);
}

}  // namespace
}  // namespace edgewise
