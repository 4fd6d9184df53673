// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <string>
#include <vector>

#include "edgewise/text/split.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using Lines = std::vector<std::string>;

TEST(Tokenizer, SeparatesPunctuationAsTheTextbookChapterDoes) {
  EXPECT_EQ(separate_punctuation("Go."), "Go .");
  EXPECT_EQ(separate_punctuation("Va\u202f!"), "Va !");
  EXPECT_EQ(separate_punctuation("Va\u00a0! Oui, va."), "Va ! Oui , va .");
  EXPECT_EQ(separate_punctuation("?!..."), "? ! . . .");
  EXPECT_EQ(separate_punctuation("3.14 l'eau; oui: non"), "3 .14 l'eau; oui: non");
  EXPECT_EQ(separate_punctuation(""), "");
}

TEST(Tokenizer, JoinsWhatItSeparated) {
  for (const std::string text : {"Go.", "I'm OK.", "Wait... what?!", "3.14, or 1,000.50!", "", ".", "a. b? c!"}) {
    EXPECT_EQ(join_punctuation(separate_punctuation(text)), text);
  }
  for (const std::string text : {"Va !", "Je suis calme.", "Attends... quoi ?!", "Oui, 3,5 ?"}) {
    EXPECT_EQ(join_punctuation(separate_punctuation(text), MarkSpacing::kApart), text);
  }
}

TEST(Tokenizer, SeesHowALanguageSpacesItsMarks) {
  const Lines english = {"Go!", "What?!", "No marks.", "!"};
  const Lines french = {"Va\u202f!", "Quoi ?!", "Hein?"};
  const Lines none = {"..."};

  EXPECT_EQ(mark_spacing_of({english}), MarkSpacing::kClose);
  EXPECT_EQ(mark_spacing_of({french}), MarkSpacing::kApart);
  EXPECT_EQ(mark_spacing_of({none}), MarkSpacing::kClose);
}

TEST(Tokenizer, SplitsIntoWordsAndCharacters) {
  EXPECT_THAT(split_words(" a\u00a0b\t c\u2028"), testing::ElementsAre("a", "b", "c"));
  EXPECT_THAT(split_words(" \t "), testing::IsEmpty());
  EXPECT_THAT(split_characters("aé €"), testing::ElementsAre("a", "é", " ", "€"));
  EXPECT_EQ(join_words(split_words("  a  b ")), "a b");
}

TEST(Split, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hash_of_words(""), 0xEFD01F60BA992926u);
  EXPECT_EQ(hash_of_words("I'm OK ."), 6017689557783495803u);
}

TEST(Split, LooksAtWordsOnly) {
  EXPECT_EQ(hash_of_words("Go."), hash_of_words("go !"));
  EXPECT_EQ(hash_of_words("«Où es-tu ?»"), hash_of_words("où ES TU"));
  EXPECT_NE(hash_of_words("es tu"), hash_of_words("estu"));
  EXPECT_NE(hash_of_words("a b"), hash_of_words("b a"));
}

TEST(Split, GivesEachPartItsShare) {
  std::map<Split, int> counts;
  for (int i = 0; i < 10000; ++i) ++counts[split_of("sentence " + std::to_string(i), {.valid = 0.1, .test = 0.2})];

  EXPECT_NEAR(counts[Split::kValid], 1000, 150);
  EXPECT_NEAR(counts[Split::kTest], 2000, 200);
  EXPECT_EQ(split_of("anything", {.valid = 0, .test = 0}), Split::kTrain);
  EXPECT_EQ(split_of("anything", {.valid = 1, .test = 0}), Split::kValid);
}

TEST(Split, NeedsSharesOfAWhole) {
  EXPECT_EQ(error_of([] { split_of("a", {.valid = 0.7, .test = 0.5}); }),
            "split_of: shares are 0.7 for validation and 0.5 for test, need 0 or more and at most 1 together");
}

}  // namespace
}  // namespace edgewise
