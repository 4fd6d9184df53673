// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "edgewise/viz/bar_chart.h"
#include "edgewise/viz/palette.h"
#include "edgewise/viz/ponder_picture.h"
#include "edgewise/viz/signal_picture.h"
#include "edgewise/viz/svg.h"
#include "edgewise/viz/tree_picture.h"
#include "tests/support/count_matches.h"
#include "tests/support/error_of.h"
#include "tests/viz/hostile_numbers.h"
#include "tests/viz/svg_geometry.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Two outputs of a beam: "a b", the best, and "c"; "d" is pruned.
TreeDrawing tree() {
  return {
      .title = "beam",
      .nodes = {
          {.parent = -1, .label = "<begin>", .status = HypothesisStatus::kBest},
          {.parent = 0, .label = "d", .log_probability = -0.5},
          {.parent = 0, .label = "c", .log_probability = -1.5, .status = HypothesisStatus::kKept},
          {.parent = 0, .label = "a", .log_probability = -0.7, .status = HypothesisStatus::kBest},
          {.parent = 3, .label = "b", .log_probability = -0.9, .status = HypothesisStatus::kBest},
          {.parent = 4, .label = "<end>", .log_probability = -1, .score = -0.5, .status = HypothesisStatus::kBest},
          {.parent = 2, .label = "<end>", .log_probability = -2, .score = -1.25, .status = HypothesisStatus::kEnded}}};
}

double y_of(const std::string& svg, int node) {
  std::smatch found;
  const std::regex place("data-node=\"" + std::to_string(node) + "\".*?<rect x=\"[0-9.]+\" y=\"([0-9.]+)\"");
  return std::regex_search(svg, found, place) ? std::stod(found[1]) : NAN;
}

TEST(TreePicture, MarksEachHypothesisWithItsStatus) {
  const std::string svg = draw(tree()).body;
  EXPECT_EQ(count_matches(svg, "<g class=\"hypothesis"), 7U);
  EXPECT_EQ(count_matches(svg, "<path class=\"branch cut\""), 1U);
  EXPECT_EQ(count_matches(svg, "<path class=\"branch best\""), 3U);
  EXPECT_THAT(svg, HasSubstr("d: cut, log-probability -0.50"));
  EXPECT_THAT(svg, HasSubstr("score -0.500, the best"));
  EXPECT_THAT(svg, HasSubstr(">score -1.250<"));
}

TEST(TreePicture, DrawsTheBestOutputAsAStraightLineAboveTheOthers) {
  const std::string svg = draw(tree()).body;
  for (const int node : {3, 4, 5}) EXPECT_EQ(y_of(svg, node), y_of(svg, 0));
  EXPECT_LT(y_of(svg, 3), y_of(svg, 2));
  EXPECT_LT(y_of(svg, 2), y_of(svg, 1)) << "pruned hypotheses are last, even likely ones";
}

TEST(TreePicture, DrawsALongOutput) {
  TreeDrawing chain{.title = "chain", .nodes = {{.parent = -1, .label = "<begin>"}}};
  for (std::int64_t i = 0; i < 20'000; ++i) chain.nodes.push_back({.parent = i, .label = "a"});
  EXPECT_GT(draw(chain).width, 20'000);
}

TEST(TreePicture, WritesTheTreeAsJson) {
  const nlohmann::json json = nlohmann::json::parse(json_of(tree()));
  EXPECT_EQ(json.at("nodes")[5].at("score"), -0.5);
  EXPECT_EQ(json.at("nodes")[1].at("fate"), "cut");
  EXPECT_FALSE(json.at("nodes")[1].contains("score"));
}

TEST(PonderPicture, HasABlockForEachStep) {
  const SvgPicture picture = draw_ponder_steps(
      "steps", {{.name = "input", .tokens = {{"a", 3}, {"</text>", 1}}}, {.name = "output", .tokens = {{"b", 2}}}});
  EXPECT_EQ(count_matches(picture.body, "<rect class=\"f0\""), 4U);
  EXPECT_EQ(count_matches(picture.body, "<rect class=\"f1\""), 2U);
  EXPECT_THAT(picture.body, HasSubstr("aria-label=\"a: 3 steps\""));
  EXPECT_THAT(picture.body, HasSubstr("&lt;/text&gt;"));
}

TEST(BarChart, HasBarHeightsProportionalToTheValues) {
  const std::string svg = draw(BarChart{.title = "steps",
                                        .x_title = "steps",
                                        .categories = {"1", "2"},
                                        .series = {{.name = "input", .values = {0.25, 0.75}, .colour = 2}},
                                        .highest = 1})
                              .body;
  const std::regex bar("<rect class=\"bar f2\"[^>]*height=\"([0-9.]+)\"");
  auto bars = std::sregex_iterator(svg.begin(), svg.end(), bar);
  ASSERT_EQ(std::distance(bars, {}), 2);
  const double first = std::stod((*bars)[1]);
  EXPECT_NEAR(std::stod((*++bars)[1]), 3 * first, 0.2);
  EXPECT_THAT(svg, HasSubstr("<title>input, 2 steps: 75.0%</title>"));
}

TEST(BarChart, IsAValidPictureForAnyNumbers) {
  EXPECT_TRUE(rc::check("bar charts", [] {
    BarChart chart{.title = "steps", .x_title = "steps", .categories = {}, .series = {}};
    for (const char* name : {"input", "output"}) {
      chart.series.push_back({.name = name, .values = *hostile_series(), .colour = 0});
    }
    const std::size_t size = chart.series[0].values.size();
    for (std::size_t i = 0; i < size; ++i) chart.categories.push_back(std::to_string(i));
    const SvgPicture picture = draw(chart);
    RC_ASSERT(find_bad_coordinate(picture) == "");
    RC_ASSERT(count_matches(picture.body, "<rect class=\"bar") == 2 * size);
    RC_ASSERT(!std::regex_search(picture.body, std::regex("nan|inf|[0-9]{20}")));
    require_valid(picture);
  }));
}

TEST(BarChart, HasShortTitlesForAnyValue) {
  const auto title_of = [](double value) {
    return draw(BarChart{.title = "steps",
                         .x_title = "steps",
                         .categories = {"1"},
                         .series = {{.name = "input", .values = {value}}},
                         .highest = 1})
        .body;
  };
  EXPECT_THAT(title_of(NAN), HasSubstr("<title>input, 1 steps: –</title>"));
  EXPECT_THAT(title_of(INFINITY), HasSubstr("<title>input, 1 steps: –</title>"));
  EXPECT_THAT(title_of(1.7e308), HasSubstr("<title>input, 1 steps: –</title>"));
  EXPECT_THAT(title_of(9999), HasSubstr("<title>input, 1 steps: 999900.0%</title>"));
  EXPECT_THAT(title_of(1e300), HasSubstr("<title>input, 1 steps: 1e+302%</title>"));
}

TEST(BarChart, NamesAsManyCategoriesAsHaveSpace) {
  BarChart chart{.title = "steps", .x_title = "steps", .categories = {}, .series = {{.name = "a", .values = {}}}};
  for (int i = 0; i < 50; ++i) chart.categories.push_back(std::to_string(100 + i) + "–" + std::to_string(101 + i));
  const std::string svg = draw(chart).body;
  const std::size_t names = count_matches(svg, "text-anchor=\"middle\"");
  EXPECT_GE(names, 2U);
  EXPECT_LE(static_cast<double>(names) * label_width("100–101"), 360);
}

TEST(SignalPicture, LeavesCellsThatAreNotNumbersEmpty) {
  const Signal signal{.title = "signal", .positions = 1, .size = 3, .values = {NAN, -2, INFINITY}};
  const std::string map = draw_map(signal).body;
  EXPECT_THAT(map, HasSubstr("fill=\"" + hex(colour_of(0)) + "\" d=\"M0 1h1v1h-1z\""));
  EXPECT_THAT(map, HasSubstr("fill=\"" + hex(colour_of(1)) + "\" d=\"M0 2h1v1h-1z\""));
  EXPECT_THAT(map, Not(HasSubstr("M0 0h")));
}

TEST(SignalPicture, DrawsTheSelectedDimensions) {
  Signal signal{.title = "signal", .positions = 3, .size = 2, .values = {0, 1, 0.5, 0.5, 1, -1}};
  const std::string curves = draw_curves(signal, {1}).body;
  EXPECT_EQ(count_matches(curves, "<polyline"), 1U);
  EXPECT_THAT(curves, HasSubstr("dim 1"));
  EXPECT_EQ(error_of([&] { draw_curves(signal, {2}); }), "draw_curves: dimension is 2, needs 0 to 1");
  EXPECT_GT(draw_map(signal).height, 0);
}

TEST(Label, IsCutToItsWidth) {
  EXPECT_EQ(fit_label("short", 100), "short");
  const std::string cut = fit_label(std::string(200, 'm'), 60);
  EXPECT_LE(label_width(cut), 60);
  EXPECT_THAT(cut, testing::EndsWith("…"));
  EXPECT_LE(label_width(fit_label("漢字漢字漢字漢字漢字", 60)), 60);
  EXPECT_EQ(label_html("a\"<"), "a&quot;&lt;");
}

TEST(ArrangePictures, PutsPicturesInRows) {
  const SvgPicture small{.width = 10, .height = 20, .title = "", .body = "<a/>"};
  const SvgPicture large{.width = 30, .height = 5, .title = "", .body = "<b/>"};
  const std::vector<SvgPicture> pictures = {small, large, large};
  const SvgPicture both = arrange_pictures("both", pictures, 2);
  EXPECT_EQ(both.width, 30 + 16 + 30);
  EXPECT_EQ(both.height, 20 + 16 + 5);
  EXPECT_THAT(both.body, HasSubstr("translate(46.0 0.0)"));
  EXPECT_THAT(both.body, HasSubstr("translate(0.0 36.0)"));
}

}  // namespace
}  // namespace edgewise
