// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace edgewise {
namespace {

TEST(CompareBits, FindsAChangedBit) {
  // sha256sum of the bytes 00 00 80 3f 00 00 00 c0
  const std::vector<float> numbers = {1.0f, -2.0f};
  EXPECT_TRUE(compare_bits(numbers, "ee4ac73c2bd27756").is_right);
  const std::vector<float> changed = {1.0f, std::nextafter(-2.0f, 0.0f)};
  const Finding finding = compare_bits(changed, "ee4ac73c2bd27756");
  EXPECT_FALSE(finding.is_right);
  EXPECT_TRUE(finding.text.ends_with("…, needs ee4ac73c2bd27756…")) << finding.text;
}

TEST(Comparison, TellsTheLargestErrorAsAShareOfTheAllowedOne) {
  Comparison comparison;
  comparison.add(1.0, 1.0, 0.0);
  EXPECT_EQ(comparison.finding().text, "expected bits");
  comparison.add(1.1, 1.0, 0.4);
  comparison.add(2.0, 2.01, 0.4);
  EXPECT_TRUE(comparison.finding().is_right);
  EXPECT_EQ(comparison.finding().text, "largest error 25 % of the allowed one");
}

TEST(Comparison, TellsTheFirstNumberThatIsTooFarAway) {
  Comparison comparison;
  comparison.add(1.5, 1.0, 0.25);
  comparison.add(9.0, 1.0, 0.25);
  EXPECT_FALSE(comparison.finding().is_right);
  EXPECT_EQ(comparison.finding().text, "a number is 1.5, needs 1 ± 0.25");
}

TEST(Comparison, RefusesNan) {
  Comparison comparison;
  comparison.add(std::nan(""), 1.0, 10.0);
  EXPECT_FALSE(comparison.finding().is_right);
}

TEST(Comparison, AllowsTheRoundingErrorsOfSums) {
  const std::vector<double> expected = {3.0, -4.0, 0.0};
  Comparison near;
  near.add_sums(std::vector<float>{3.0f, -4.0f, 5e-5f}, expected);
  EXPECT_TRUE(near.finding().is_right) << near.finding().text;
  Comparison far;
  far.add_sums(std::vector<float>{3.0f, -4.0f, 5e-4f}, expected);
  EXPECT_FALSE(far.finding().is_right);
}

TEST(Comparison, RequiresTheSameBits) {
  Comparison comparison;
  const std::vector<float> zero = {0.0f};
  comparison.add_equal(zero, zero, "nothing");
  EXPECT_TRUE(comparison.finding().is_right);
  comparison.add_equal(zero, std::vector<float>{-0.0f}, "the sign");
  EXPECT_EQ(comparison.finding().text, "the sign changes the bits, needs the same bits");
}

}  // namespace
}  // namespace edgewise
