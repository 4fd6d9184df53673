// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <string>
#include <vector>

#include "edgewise/text/vocabulary/lookup_vocabulary.h"
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

TEST(Tokenizer, RestoresSeparatedPunctuation) {
  for (const std::string text : {"Go.", "I'm OK.", "Wait... what?!", "3.14, or 1,000.50!", "", ".", "a. b? c!"}) {
    EXPECT_EQ(join_punctuation(separate_punctuation(text)), text);
  }
  for (const std::string text : {"Va !", "Je suis calme.", "Attends... quoi ?!", "Oui, 3,5 ?"}) {
    EXPECT_EQ(join_punctuation(separate_punctuation(text), MarkSpacing::kApart), text);
  }
}

TEST(Tokenizer, DetectsTheSpacingOfMarks) {
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

}  // namespace
}  // namespace edgewise
