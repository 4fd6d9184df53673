// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Axis, HasRoundTicks) {
  EXPECT_THAT((Axis{.lowest = 0, .highest = 8000}).ticks(5), ElementsAre(0, 2000, 4000, 6000, 8000));
  EXPECT_EQ(format_number((Axis{.lowest = 0, .highest = 60}).ticks(5).front()), "0");
  EXPECT_THAT((Axis{.lowest = 0.31, .highest = 0.92}).ticks(4),
              ElementsAre(DoubleNear(0.4, 1e-12), DoubleNear(0.6, 1e-12), DoubleNear(0.8, 1e-12)));
  EXPECT_THAT((Axis{.lowest = 1.5, .highest = 9, .scale = AxisScale::kLogarithmic}).ticks(5), ElementsAre(2, 3, 5));
  EXPECT_THAT((Axis{.lowest = 3, .highest = 3}).ticks(5), ElementsAre(3));
}

TEST(Axis, NormalisesNumbersBetweenItsEnds) {
  const Axis linear{.lowest = 2, .highest = 6};
  const Axis logarithmic{.lowest = 1, .highest = 100, .scale = AxisScale::kLogarithmic};

  EXPECT_EQ(linear.normalise(5), 0.75);
  EXPECT_DOUBLE_EQ(logarithmic.normalise(10), 0.5);
}

TEST(Axis, FormatsNumbersInFewCharacters) {
  EXPECT_EQ(format_number(0.00001), "1e-05");
  EXPECT_EQ(format_number(2.5), "2.5");
  EXPECT_EQ(format_number(12000), "12k");
  EXPECT_EQ(format_number(3500000), "3.5M");
}

std::size_t count_points(const std::string& svg) {
  const std::regex point("[0-9.-]+,[0-9.-]+ ");
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(svg.begin(), svg.end(), point), {}));
}

TEST(LineChart, DrawsEachCurveInItsColour) {
  const LineChart chart = {.title = "BLEU",
                           .x_title = "step",
                           .curves = {{.name = "a<b", .points = {{1, 2}, {2, 3}, {3, NAN}, {4, 5}}, .colour = 0},
                                      {.name = "one", .points = {{2, 4}}, .colour = kColours + 3}}};

  const std::string svg = draw(chart, 4).body;

  EXPECT_THAT(svg, HasSubstr("<title>a&lt;b</title>"));
  EXPECT_THAT(svg, HasSubstr("<polyline class=\"line s0\""));
  EXPECT_THAT(svg, HasSubstr("<circle class=\"f3\""));
  EXPECT_EQ(count_points(svg), 3U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(LineChart, DownsamplesLongCurves) {
  Curve curve;
  for (int i = 1; i <= 10'000; ++i) curve.points.emplace_back(i, 1.0 / i);
  const std::string svg =
      draw({.title = "loss", .x_title = "step", .scale = AxisScale::kLogarithmic, .curves = {curve}}, 1e4).body;

  EXPECT_GT(count_points(svg), 200U);
  EXPECT_LE(count_points(svg), 300U);
}

TEST(LineChart, IsEmptyWithoutPoints) {
  EXPECT_EQ(draw({.title = "BLEU", .x_title = "step", .curves = {{.name = "a", .points = {{1, NAN}}}}}, 4).body, "");
}

TEST(HtmlPage, FetchesNothing) {
  const std::string page = html_page("Runs & more", "<p>text</p>");

  EXPECT_THAT(page, HasSubstr("<title>Runs &amp; more</title>"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  for (const char* fetching : {"http", "src=", "url(", "@import", "<script", "<link"}) {
    EXPECT_EQ(page.find(fetching), std::string::npos) << fetching;
  }
}

}  // namespace
}  // namespace edgewise
