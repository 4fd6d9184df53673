// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/capitals.h"

#include <gtest/gtest.h>

#include "edgewise/text/unicode.h"
#include "tests/translate/words.h"

namespace edgewise {
namespace {

TEST(WithoutCapitals, HasTheFormsOfTheVocabulary) {
  const auto vocabulary = make_word_vocabulary("Come come in sit don't der Hund NATO nato été");
  EXPECT_EQ(without_capitals("COME IN. SIT, DON'T!", *vocabulary), "Come in. sit, don't!");
  EXPECT_EQ(without_capitals("COME", *vocabulary), "come");
  EXPECT_EQ(without_capitals("DER HUND", *vocabulary), "der Hund");
  EXPECT_EQ(without_capitals("3 ÉTÉ", *vocabulary), "3 été");
}

TEST(WithoutCapitals, HasCapitalsThatTheVocabularyHas) {
  const auto vocabulary = make_word_vocabulary("NATO in");
  EXPECT_EQ(without_capitals("IN NATO", *vocabulary), "in NATO");
  EXPECT_EQ(without_capitals("NATO", *vocabulary), std::nullopt);
}

TEST(WithoutCapitals, BeginsSentencesOfSeveralUnknownWordsWithACapital) {
  EXPECT_EQ(without_capitals("ЧТО ЭТО? ДОМ", *make_word_vocabulary("a")), "Что это? Дом");
}

TEST(WithoutCapitals, IsNothingForOtherTexts) {
  const auto vocabulary = make_word_vocabulary("come in");
  for (const char* text : {"", "12 %", "'", "Come in", "COME in", "STRAßE", "我在BBC"}) {
    EXPECT_EQ(without_capitals(text, *vocabulary), std::nullopt) << text;
  }
}

TEST(WithoutCapitals, IsNothingIfALetterHasAnotherSizeInLowerCase) {
  EXPECT_EQ(without_capitals("ȺB BȺ", *make_word_vocabulary("a")), std::nullopt);
}

TEST(UpperCase, IsThatOfTheRootLocale) { EXPECT_EQ(upper_case("Straße ŉ ı i é"), "STRASSE ʼN I I É"); }

}  // namespace
}  // namespace edgewise
