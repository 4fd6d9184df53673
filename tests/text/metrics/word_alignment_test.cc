// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/metrics/word_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GoldAlignment, SureLinksAreAlsoPossible) {
  const GoldAlignment gold = parse_gold_alignment(" 3p1 1-1\t2-2 1-1", 1, "gold:1");
  EXPECT_THAT(gold.sure, ElementsAre(WordLink{0, 0}, WordLink{1, 1}));
  EXPECT_THAT(gold.possible, ElementsAre(WordLink{0, 0}, WordLink{1, 1}, WordLink{2, 0}));
  EXPECT_THAT(parse_gold_alignment("0-4", 0, "gold:1").sure, ElementsAre(WordLink{0, 4}));
  EXPECT_THAT(parse_gold_alignment("", 1, "gold:1").possible, IsEmpty());
}

TEST(GoldAlignment, ErrorsNameInvalidText) {
  for (const char* word : {"1", "1-", "-1", "1x2", "1-2-3", "0-1", "1--1", "99999999999999999999-1"}) {
    EXPECT_EQ(
        error_of([&] { parse_gold_alignment(word, 1, "gold:7"); }),
        "gold:7 has \"" + std::string(word) + "\", needs links as 1-1 (sure) or 1p1 (possible), words counted from 1");
  }
}

TEST(AlignmentErrors, FollowTheDefinitionOfOchAndNey) {
  const GoldAlignment gold = parse_gold_alignment("1-1 2-2 2p3", 1, "");
  AlignmentErrors errors;
  errors.add({{0, 0}, {1, 2}, {2, 2}, {0, 0}}, gold);
  // 3 links were found and 2 are sure; of the found links, 1 is sure and 2 are possible.
  EXPECT_DOUBLE_EQ(errors.rate(), 1 - (1.0 + 2.0) / (3.0 + 2.0));
  errors.add({{0, 0}}, parse_gold_alignment("1-1", 1, ""));
  EXPECT_DOUBLE_EQ(errors.rate(), 1 - (2.0 + 3.0) / (4.0 + 3.0));
}

TEST(AlignmentErrors, AreZeroForAPerfectAlignment) {
  AlignmentErrors errors;
  EXPECT_EQ(errors.rate(), 0);
  errors.add({{0, 0}, {1, 1}}, parse_gold_alignment("1-1 2p2", 1, ""));
  EXPECT_EQ(errors.rate(), 0);
}

}  // namespace
}  // namespace edgewise
