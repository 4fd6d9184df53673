// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"
#include "edgewise/viz/svg.h"
#include "tests/viz/hostile_numbers.h"
#include "tests/viz/svg_geometry.h"

namespace edgewise {
namespace {

using testing::HasSubstr;

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

TEST(LineChart, DrawsAConstantAndItsNeighbourAsFlatLines) {
  for (const double rate : {0.0005, 1.0, 1e300, -7.0}) {
    const LineChart chart = {.title = "Learning rate",
                             .x_title = "step",
                             .curves = {{.name = "run", .points = {{1, rate}, {2, std::nextafter(rate, 0.0)}}}}};
    const std::string svg = draw(chart, 2).body;
    std::smatch found;
    ASSERT_TRUE(std::regex_search(svg, found, std::regex("points=\"[0-9.]+,([0-9.]+) [0-9.]+,([0-9.]+) \"")));
    EXPECT_NEAR(std::stod(found[1]), std::stod(found[2]), 0.1 + 1e-9) << "more than the last digit";
  }
}

/// Draws the series as two curves on the steps 1, 2, …
SvgPicture draw_series(const std::vector<double>& first, const std::vector<double>& second, AxisScale scale) {
  LineChart chart{.title = "title", .x_title = "step", .scale = scale, .curves = {}, .has_legend = true};
  for (const std::vector<double>& values : {first, second}) {
    Curve& curve = chart.curves.emplace_back();
    curve.name = "\x01\xff<run>";
    for (const double value : values) curve.points.emplace_back(static_cast<double>(curve.points.size() + 1), value);
  }
  return draw(chart, static_cast<double>(std::max(first.size(), second.size())));
}

TEST(LineChart, IsAValidPictureForAnyNumbers) {
  for (const AxisScale scale : {AxisScale::kLinear, AxisScale::kLogarithmic}) {
    EXPECT_TRUE(rc::check("line charts", [scale] {
      const std::vector<double> first = *hostile_series();
      const std::vector<double> second = *hostile_series();
      const SvgPicture picture = draw_series(first, second, scale);
      const auto can_be_drawn = [scale](double value) { return can_draw(value, scale); };
      const bool has_points = std::ranges::any_of(first, can_be_drawn) || std::ranges::any_of(second, can_be_drawn);
      RC_ASSERT(picture.body.empty() == !has_points);
      RC_ASSERT(find_bad_coordinate(picture) == "");
      RC_ASSERT(picture.body.size() < 20'000);
      require_valid(picture);
    }));
  }
}

TEST(LineChart, LeavesOutPointsOutsideTheXAxis) {
  const LineChart chart = {
      .title = "loss",
      .x_title = "step",
      .curves = {{.name = "a", .points = {{-1, 2}, {NAN, 3}, {1, 2}, {4, 3}, {5, 1}, {INFINITY, 5}}}}};
  EXPECT_EQ(count_points(draw(chart, 4).body), 2U);
}

TEST(LineChart, HasSpaceForTheLabelsOfItsYAxis) {
  const LineChart chart = {
      .title = "loss", .x_title = "step", .curves = {{.name = "a", .points = {{1, -0.001234}, {2, -0.001232}}}}};
  const SvgPicture picture = draw(chart, 4);
  const std::regex label("<text x=\"([0-9.]+)\" y=\"[0-9.]+\" text-anchor=\"end\">(-0[0-9.]+)<");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(picture.body, found, label));
  EXPECT_GE(std::stod(found[1]), label_width(found[2].str()));
}

TEST(LineChart, IsEmptyWithoutPoints) {
  EXPECT_EQ(draw({.title = "BLEU", .x_title = "step", .curves = {{.name = "a", .points = {{1, NAN}}}}}, 4).body, "");
}

TEST(HtmlPage, FetchesNothing) {
  const std::string page = html_page({.title = "Runs & more", .body = "<p>text</p>"});

  EXPECT_THAT(page, HasSubstr("<title>Runs &amp; more</title>"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  for (const char* fetching : {"http", "src=", "url(", "@import", "<script", "<link"}) {
    EXPECT_EQ(page.find(fetching), std::string::npos) << fetching;
  }
}

}  // namespace
}  // namespace edgewise
