// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/attention_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>

#include "edgewise/viz/palette.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::IsNan;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// Two layers of two heads with causal attention between two tokens.
AttentionMaps small_maps() {
  return {.name = "decoder",
          .layer_name = "layer",
          .row_title = "output",
          .column_title = "output",
          .rows = {"a", "b"},
          .columns = {"a", "b"},
          .weights = {{{1, kNone, 0.5, 0.5}, {1, kNone, 0.25, 0.75}}, {{1, kNone, 0, 1}, {1, kNone, 1, 0}}}};
}

TEST(AttentionMaps, AreAveragedOverHeadsLayersAndBoth) {
  const AttentionMaps maps = small_maps();
  EXPECT_THAT(weights_of(maps, {.layer = 0, .head = 1}), ElementsAre(1, IsNan(), 0.25, 0.75));
  EXPECT_THAT(weights_of(maps, {.layer = 0, .head = {}}), ElementsAre(1, IsNan(), 0.375, 0.625));
  EXPECT_THAT(weights_of(maps, {.layer = {}, .head = 1}), ElementsAre(1, IsNan(), 0.625, 0.375));
  EXPECT_THAT(weights_of(maps, {}), ElementsAre(1, IsNan(), 0.4375, 0.5625));
}

// A halted node of a Universal Transformer has no row in later steps.
TEST(AttentionMaps, AreAveragedOverExistingRows) {
  AttentionMaps maps = small_maps();
  maps.weights[1] = {{kNone, kNone, 0, 1}, {kNone, kNone, 1, 0}};
  EXPECT_THAT(weights_of(maps, {.layer = {}, .head = 0}), ElementsAre(1, IsNan(), 0.25, 0.75));
}

TEST(AttentionMaps, AreListedLayerByLayerWithTheirMeans) {
  std::vector<std::string> names;
  for (const MapIndex& index : list_map_indices(small_maps())) names.push_back(name_of(small_maps(), index));
  EXPECT_THAT(names,
              ElementsAre("decoder, layer 0, head 0", "decoder, layer 0, head 1", "decoder, layer 0, mean of heads",
                          "decoder, layer 1, head 0", "decoder, layer 1, head 1", "decoder, layer 1, mean of heads",
                          "decoder, mean of layers, head 0", "decoder, mean of layers, head 1",
                          "decoder, mean of layers, mean of heads"));
}

TEST(AttentionMaps, AreWrittenAsJsonWithAllDigits) {
  AttentionMaps maps = small_maps();
  maps.weights[0][0][3] = 0.1f;
  const nlohmann::json json = nlohmann::json::parse(json_of(maps));
  EXPECT_EQ(json.at("weights")[0][0][1][1].get<float>(), 0.1f);
  EXPECT_TRUE(json.at("weights")[0][0][0][1].is_null());
  EXPECT_EQ(json.at("weights")[1][1][1][0], 1);
  EXPECT_EQ(json.at("rows"), (std::vector<std::string>{"a", "b"}));
}

TEST(AttentionMaps, AreValidJsonWithoutRowsOrColumnsAndWithInfiniteWeights) {
  AttentionMaps maps = small_maps();
  maps.rows.clear();
  maps.weights = {{{}}};
  EXPECT_EQ(nlohmann::json::parse(json_of(maps)).at("weights"), nlohmann::json::parse("[[[]]]"));
  maps = small_maps();
  maps.columns.clear();
  maps.weights = {{{}}};
  EXPECT_EQ(nlohmann::json::parse(json_of(maps)).at("weights"), nlohmann::json::parse("[[[[], []]]]"));
  maps = small_maps();
  maps.weights[0][0][0] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(nlohmann::json::parse(json_of(maps)).at("weights")[0][0][0][0].is_null());
}

/// Counts the unit squares of a colour.
std::ptrdiff_t count_squares(const std::string& svg, const Colour& colour) {
  const std::regex path("<path fill=\"" + hex(colour) + "\" d=\"([^\"]*)\"");
  std::ptrdiff_t count = 0;
  for (auto found = std::sregex_iterator(svg.begin(), svg.end(), path); found != std::sregex_iterator(); ++found) {
    const std::string squares = (*found)[1];
    count += std::ranges::count(squares, 'z');
  }
  return count;
}

TEST(HeatMap, DrawsEachWeightInItsColourAndLeavesMissingEdgesEmpty) {
  const SvgPicture picture = draw(make_heat_map(small_maps(), {.layer = 0, .head = 1}));
  EXPECT_EQ(count_squares(picture.body, colour_of(1)), 1);
  EXPECT_EQ(count_squares(picture.body, colour_of(0.25)), 1);
  EXPECT_EQ(count_squares(picture.body, colour_of(0.75)), 1);
  EXPECT_EQ(count_squares(picture.body, colour_of(0)), 0);
  EXPECT_THAT(picture.body, HasSubstr(">decoder, layer 0, head 1</text>"));
  EXPECT_THAT(picture.body, HasSubstr(">0.5</text>"));  // in the legend
}

TEST(HeatMap, NeedsAValueForEachCell) {
  EXPECT_EQ(error_of([] {
              draw({.title = "", .row_title = "", .column_title = "", .rows = {"a"}, .columns = {"b"}, .values = {}});
            }),
            "draw: the heat map has 0 values, 1 rows of 1 columns need 1");
}

TEST(AttentionGrid, HasAMapForEachSelectedLayerAndHead) {
  const std::string whole = draw_grid(small_maps()).body;
  EXPECT_EQ(count_squares(whole, colour_of(1)), 6);
  EXPECT_THAT(whole, HasSubstr(">layer 1</text>"));
  EXPECT_THAT(whole, HasSubstr(">head 1</text>"));
  EXPECT_EQ(count_squares(draw_grid(small_maps(), {.layer = 0, .head = {}}).body, colour_of(1)), 2);
}

}  // namespace
}  // namespace edgewise
