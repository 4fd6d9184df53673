// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/viz/hostile_numbers.h"

namespace edgewise {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Axis, HasRoundTicks) {
  EXPECT_THAT(Axis(0, 8000).ticks(5), ElementsAre(0, 2000, 4000, 6000, 8000));
  EXPECT_EQ(format_number(Axis(0, 60).ticks(5).front()), "0");
  EXPECT_THAT(Axis(0.31, 0.92).ticks(4),
              ElementsAre(DoubleNear(0.4, 1e-12), DoubleNear(0.6, 1e-12), DoubleNear(0.8, 1e-12)));
}

TEST(Axis, HasRoundTicksOnALogarithmicScale) {
  const auto ticks = [](double lowest, double highest) {
    return Axis(lowest, highest, AxisScale::kLogarithmic).ticks(5);
  };
  EXPECT_THAT(ticks(1.5, 9), ElementsAre(2, 3, 5));
  EXPECT_THAT(ticks(1.5, 600), ElementsAre(3, 10, 30, 100, 300));
  EXPECT_THAT(ticks(2.1, 2.9), ElementsAre(DoubleNear(2.2, 1e-12), DoubleNear(2.4, 1e-12), DoubleNear(2.6, 1e-12),
                                           DoubleNear(2.8, 1e-12)));
  EXPECT_THAT(ticks(0.5, 5e8), ElementsAre(1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e7, 1e8));
}

TEST(Axis, ExtendsValuesThatDifferLittle) {
  const Axis constant(3, 3);
  EXPECT_DOUBLE_EQ(constant.lowest(), 3 - 0.0075);
  EXPECT_DOUBLE_EQ(constant.highest(), 3 + 0.0075);
  EXPECT_NEAR(constant.normalise(3), 0.5, 1e-9);

  const Axis rate(0.0005, std::nextafter(0.0005, 1));
  EXPECT_NEAR(rate.normalise(0.0005), rate.normalise(std::nextafter(0.0005, 1)), 1e-9) << "a flat line";

  EXPECT_EQ(Axis(0, 0).highest(), 1);
  EXPECT_EQ(Axis(5e-324, 5e-324).lowest(), 0) << "no values below 0";
}

TEST(Axis, NormalisesNumbersBetweenItsEnds) {
  EXPECT_EQ(Axis(2, 6).normalise(5), 0.75);
  EXPECT_DOUBLE_EQ(Axis(1, 100, AxisScale::kLogarithmic).normalise(10), 0.5);
  EXPECT_DOUBLE_EQ(Axis(1e-300, 1e300, AxisScale::kLogarithmic).normalise(1), 0.5);
  EXPECT_DOUBLE_EQ(Axis(-1e300, 1e300).normalise(0), 0.5);
}

TEST(Axis, NeedsNumbersThatCanBeDrawn) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {kInfinity, -kInfinity, std::nan(""), 2e300}) {
    EXPECT_FALSE(can_draw(bad, AxisScale::kLinear));
    EXPECT_NE(error_of([bad] { Axis(bad, bad); }), "");
  }
  EXPECT_FALSE(can_draw(0, AxisScale::kLogarithmic));
  EXPECT_EQ(error_of([] { Axis(2, 1); }),
            "Axis: lowest is 2 and highest is 1, needs ascending finite numbers that can be drawn");
  EXPECT_EQ(error_of([] { Axis(1, 2).ticks(10); }), "Axis::ticks: count is 10, needs 2 to 9");
}

TEST(Axis, HasFewAscendingTicksWithDifferentLabelsForAnyNumbers) {
  for (const AxisScale scale : {AxisScale::kLinear, AxisScale::kLogarithmic}) {
    EXPECT_TRUE(rc::check("ticks", [scale] {
      const auto drawable =
          rc::gen::suchThat(hostile_number(), [scale](double value) { return can_draw(value, scale); });
      const double first = *drawable;
      const double second = *rc::gen::oneOf(drawable, rc::gen::just(first), rc::gen::just(std::nextafter(first, 1.0)),
                                            rc::gen::just(first * (1 + 1e-6)), rc::gen::just(first * 1.004));
      RC_PRE(can_draw(second, scale));
      const Axis axis(std::min(first, second), std::max(first, second), scale);
      RC_ASSERT(axis.lowest() <= std::min(first, second));
      RC_ASSERT(axis.highest() >= std::max(first, second));
      for (const double value : {first, second}) {
        RC_ASSERT(axis.normalise(value) >= -1e-9);
        RC_ASSERT(axis.normalise(value) <= 1 + 1e-9);
      }
      const int count = *rc::gen::inRange(2, 10);
      const std::vector<double> ticks = axis.ticks(count);
      RC_ASSERT(!ticks.empty());
      RC_ASSERT(ticks.size() <= std::max<std::size_t>(5, 2 * static_cast<std::size_t>(count)));
      RC_ASSERT(ticks.front() >= axis.lowest());
      RC_ASSERT(ticks.back() <= axis.highest());
      std::set<std::string> labels;
      for (std::size_t i = 0; i < ticks.size(); ++i) {
        if (i > 0) RC_ASSERT(ticks[i] > ticks[i - 1]);
        labels.insert(format_number(ticks[i]));
      }
      RC_ASSERT(labels.size() == ticks.size());
    }));
  }
}

TEST(Axis, FormatsNumbersInFewCharacters) {
  EXPECT_EQ(format_number(0.00001), "1e-05");
  EXPECT_EQ(format_number(2.5), "2.5");
  EXPECT_EQ(format_number(9999.4), "9999");
  EXPECT_EQ(format_number(9999.5), "9.999k");
  EXPECT_EQ(format_number(-9999.6), "-10k");
  EXPECT_EQ(format_number(12000), "12k");
  EXPECT_EQ(format_number(12350), "12.35k");
  EXPECT_EQ(format_number(3500000), "3.5M");
  EXPECT_EQ(format_number(-3501000), "-3.501M");
  EXPECT_EQ(format_number(1e300), "1e+300");
}

}  // namespace
}  // namespace edgewise
