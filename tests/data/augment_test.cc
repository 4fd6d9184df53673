// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::string_view kInput = "Where is the old castle of this town? It's “there”.";
constexpr std::string_view kOutput = "Wo ist die straße zum Schloß …";

AugmentedPair changed(const AugmentOptions& options, std::string_view input = kInput,
                      std::string_view output = kOutput) {
  return augment_pair(input, output, options, /*seed=*/1);
}

TEST(AugmentPair, WritesBothSidesInCapitals) {
  EXPECT_EQ(changed({.upper_case = 1}),
            (AugmentedPair{"WHERE IS THE OLD CASTLE OF THIS TOWN? IT'S “THERE”.", "WO IST DIE STRASSE ZUM SCHLOSS …"}));
}

TEST(AugmentPair, BeginsEachWordOfBothSidesWithACapital) {
  EXPECT_EQ(changed({.title_case = 1}),
            (AugmentedPair{"Where Is The Old Castle Of This Town? It's “There”.", "Wo Ist Die Straße Zum Schloß …"}));
}

TEST(AugmentPair, LeavesOutTheLastStopMarkOnlyIfBothSidesHaveOneAfterOtherText) {
  const AugmentOptions options = {.no_stop = 1};
  EXPECT_EQ(changed(options),
            (AugmentedPair{"Where is the old castle of this town? It's “there”", "Wo ist die straße zum Schloß"}));
  EXPECT_EQ(changed(options, "Dog.", "Hund"), (AugmentedPair{"Dog.", "Hund"}));
  EXPECT_EQ(changed(options, "...", "…"), (AugmentedPair{"...", "…"}));
  EXPECT_EQ(changed(options, "Really?!", "犬。"), (AugmentedPair{"Really", "犬"}));
}

TEST(AugmentPair, HasTyposInWordsOfTheInputOnly) {
  std::set<std::string> inputs;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const AugmentedPair pair = augment_pair(kInput, kOutput, {.typos = 1}, seed);
    EXPECT_EQ(pair.output, kOutput);
    EXPECT_NE(pair.input, "");
    inputs.insert(pair.input);
  }
  EXPECT_GT(inputs.size(), 20U);
  EXPECT_EQ(changed({.typos = 1}, "a cat, 1234 on it"), (AugmentedPair{"a cat, 1234 on it", std::string(kOutput)}));
}

TEST(AugmentPair, ChangesTheShareOfPairsThatTheOptionsName) {
  int capitals = 0;
  int titles = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    const AugmentedPair pair = augment_pair("old dog", "alter hund", {.upper_case = 0.1, .title_case = 0.05}, seed);
    capitals += pair.input == "OLD DOG";
    titles += pair.input == "Old Dog";
  }
  EXPECT_NEAR(capitals, 1000, 150);
  EXPECT_NEAR(titles, 500, 110);
}

RC_GTEST_PROP(AugmentPairProperty, GivesTheSameUtf8ForTheSameSeedAndLeavesPairsAloneWithoutShares, ()) {
  const auto points = *rc::gen::container<std::vector<std::uint32_t>>(
      rc::gen::element<std::uint32_t>('a', 'B', ' ', '.', '\'', 0xDF, 0x2026, 0x130, 0x1F600, 0x300, 0x3002));
  std::string text;
  for (const std::uint32_t point : points) append_utf8(text, point);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const AugmentOptions options = {.upper_case = 0.3, .title_case = 0.3, .no_stop = 0.5, .typos = 0.5};

  const AugmentedPair pair = augment_pair(text, text, options, seed);

  RC_ASSERT(!find_bad_utf8(pair.input));
  RC_ASSERT(!find_bad_utf8(pair.output));
  RC_ASSERT(pair == augment_pair(text, text, options, seed));
  RC_ASSERT((augment_pair(text, text, {}, seed) == AugmentedPair{text, text}));
}

}  // namespace
}  // namespace edgewise
