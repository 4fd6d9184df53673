// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "edgewise/pictures/attention_alignment.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kNone = NAN;

/// Returns maps of one head per layer, with three rows and three columns. The last row and column are end tokens.
AttentionMaps make_maps(const std::vector<std::vector<float>>& layers) {
  AttentionMaps maps{.name = "cross-attention",
                     .layer_name = "step",
                     .row_title = "output",
                     .column_title = "input",
                     .rows = {"x", "y", "<end>"},
                     .columns = {"a", "b", "<end>"},
                     .weights = {}};
  for (const std::vector<float>& layer : layers) maps.weights.push_back({layer});
  return maps;
}

const TokenWords kWords = {.of_row = {0, 1, -1}, .of_column = {0, 1, -1}};

// Weights that link x to b and y to a, and x to a and y to b.
const std::vector<float> kCrossed = {0.1f, 0.9f, 0, 0.7f, 0.2f, 0.1f, 0, 0, 1};
const std::vector<float> kStraight = {0.9f, 0.1f, 0, 0.2f, 0.7f, 0.1f, 0, 0, 1};

TEST(LinkWords, LinksEachWordToTheWordOfItsLargestWeight) {
  const AttentionMaps maps = make_maps({kCrossed, kStraight});
  EXPECT_THAT(link_words(maps, {.layer = 0, .head = 0}, kWords), ElementsAre(WordLink{0, 1}, WordLink{1, 0}));
  EXPECT_THAT(link_words(maps, {.layer = 1, .head = {}}, kWords), ElementsAre(WordLink{0, 0}, WordLink{1, 1}));
  EXPECT_THAT(link_words(maps, {.layer = 0, .head = 0}, {.of_row = {0, 0, -1}, .of_column = {0, 0, -1}}),
              ElementsAre(WordLink{0, 0}))
      << "two tokens of one word";
}

TEST(LinkWords, HasNoLinkToOrFromATokenWithoutAWord) {
  const AttentionMaps maps = make_maps({{0, 0.1f, 0.9f, 1, 0, 0, 1, 0, 0}});
  EXPECT_THAT(link_words(maps, {.layer = 0, .head = 0}, kWords), ElementsAre(WordLink{0, 1}));
}

TEST(LinkWords, HasNoLinkFromATokenThatHalted) {
  const AttentionMaps maps = make_maps({kStraight, {kNone, kNone, kNone, 0.2f, 0.7f, 0.1f, kNone, kNone, kNone}});
  EXPECT_THAT(link_words(maps, {.layer = 1, .head = 0}, kWords), ElementsAre(WordLink{1, 1}));
  EXPECT_THAT(link_words(maps, {.layer = {}, .head = 0}, kWords), ElementsAre(WordLink{0, 0}, WordLink{1, 1}))
      << "the mean is over the steps before the token halted";
  const std::vector<float> none(9, kNone);
  EXPECT_THAT(link_words(make_maps({none}), {.layer = 0, .head = 0}, kWords), IsEmpty());
}

TEST(LinkWords, PassesOverMissingEdgesBeforeTheLargestWeight) {
  const AttentionMaps maps = make_maps({{kNone, 0.9f, 0.1f, kNone, kNone, 0.5f, kNone, kNone, kNone}});
  EXPECT_THAT(link_words(maps, {.layer = 0, .head = 0}, kWords), ElementsAre(WordLink{1, 0}));
}

TEST(MapErrors, AreCountedByLayerAndHeadAlsoForPairsWithFewerSteps) {
  const GoldAlignment straight = parse_gold_alignment("0-0 1-1", 0, "gold");
  const AttentionMaps two_steps = make_maps({kCrossed, kStraight});
  std::vector<MapErrors> maps;
  for (const MapIndex& map : list_map_indices(two_steps)) maps.push_back({map});
  ASSERT_EQ(maps.size(), 6U);  // for each of two steps and for their mean: one head, and the mean of heads

  add_pair(maps, two_steps, kWords, straight);
  add_pair(maps, make_maps({kStraight}), kWords, straight);  // its only step is its last, too

  for (const std::size_t i : {0, 1}) {  // step 0: half of the links are wrong
    EXPECT_EQ(maps[i].pairs, 2);
    EXPECT_EQ(maps[i].errors.rate(), 0.5);
  }
  for (const std::size_t i : {2, 3}) {  // step 1, which the second pair does not have
    EXPECT_EQ(maps[i].pairs, 1);
    EXPECT_EQ(maps[i].errors.rate(), 0.0);
  }
  for (const std::size_t i : {4, 5}) EXPECT_EQ(maps[i].pairs, 2);
}

TEST(MapErrors, DoNotCountStepsBeyondThoseOfTheList) {
  const GoldAlignment straight = parse_gold_alignment("0-0 1-1", 0, "gold");
  std::vector<MapErrors> maps;
  for (const MapIndex& map : list_map_indices(make_maps({kStraight}))) maps.push_back({map});

  add_pair(maps, make_maps({kStraight, kCrossed, kCrossed}), kWords, straight);

  EXPECT_EQ(maps[0].errors.rate(), 0.0) << "step 0";
  EXPECT_EQ(maps[2].errors.rate(), 1.0) << "the mean of the pair's three steps";
}

}  // namespace
}  // namespace edgewise
