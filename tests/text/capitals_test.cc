// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/capitals.h"

#include <gtest/gtest.h>

#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

TEST(SentencesOfCapitals, KeepCapitalsAtTheBeginningAndBehindTheEndOfASentence) {
  EXPECT_EQ(sentences_of_capitals("COME IN. SIT DOWN!"), "Come in. Sit down!");
  EXPECT_EQ(sentences_of_capitals("- \"NO\", 3 ÉTÉS"), "- \"No\", 3 étés");
  EXPECT_EQ(sentences_of_capitals("ЧТО ЭТО? ДОМ"), "Что это? Дом");
  EXPECT_EQ(sentences_of_capitals("I"), "I");
}

TEST(SentencesOfCapitals, AreNothingForOtherTexts) {
  for (const char* text : {"", "12 %", "Come in", "COME in", "STRAßE", "我在BBC"}) {
    EXPECT_EQ(sentences_of_capitals(text), std::nullopt) << text;
  }
}

TEST(SentencesOfCapitals, AreNothingIfALetterHasAnotherSizeInLowerCase) {
  EXPECT_EQ(sentences_of_capitals("ȺB BȺ"), std::nullopt);
}

TEST(UpperCase, IsThatOfTheRootLocale) { EXPECT_EQ(upper_case("Straße ŉ ı i é"), "STRASSE ʼN I I É"); }

}  // namespace
}  // namespace edgewise
