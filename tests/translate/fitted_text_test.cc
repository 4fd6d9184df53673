// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/fitted_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "edgewise/text/unicode.h"
#include "tests/support/error_of.h"
#include "tests/translate/words.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

/// Returns the characters of a vocabulary of pieces with the small Latin letters, é and あ.
KnownCharacters latin_characters(ByteFallback bytes) {
  std::vector<std::string> sentences;
  for (char letter = 'a'; letter <= 'z'; ++letter) sentences.push_back(std::string(3, letter) + " é あ");
  return KnownCharacters(build_vocabulary({std::span(sentences)}, {.kind = VocabularyKind::kSentencePiece,
                                                                   .size = bytes == ByteFallback::kAlways ? 320 : 64,
                                                                   .model = SentencePieceModel::kBpe,
                                                                   .byte_fallback = bytes}));
}

std::vector<std::string> words_of(const KnownCharacters& known, std::string_view text) {
  std::vector<std::string> words;
  for (const ProtectedSpan& span : known.add_unknown_words(text, find_protected_spans(text))) {
    words.emplace_back(text.substr(span.bytes.begin, span.bytes.size()));
  }
  return words;
}

TEST(KnownCharacters, MakeSpansOfWordsWithOtherLetters) {
  for (const ByteFallback bytes : {ByteFallback::kAlways, ByteFallback::kNever}) {
    const KnownCharacters known = latin_characters(bytes);
    EXPECT_THAT(words_of(known, "café on the 3rd, naïve!"), ElementsAre("naïve"));
    EXPECT_THAT(words_of(known, "Мир and мир2 {x} мир"), ElementsAre("Мир", "мир2", "{x}", "мир"));
    EXPECT_THAT(words_of(known, "**naïve** it"), ElementsAre("**", "naïve", "**"));
  }
}

TEST(KnownCharacters, MakeASpanOfARunOfUnknownLettersInAScriptWithoutSpaces) {
  EXPECT_THAT(words_of(latin_characters(ByteFallback::kAlways), "日本あ語"), ElementsAre("日本", "語"));
}

TEST(KnownCharacters, KeepThePairsOfSpans) {
  const std::string_view text = "ï **a** ï";
  const std::vector<ProtectedSpan> spans =
      latin_characters(ByteFallback::kAlways).add_unknown_words(text, find_protected_spans(text));
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[1].partner, 2U);
  EXPECT_EQ(spans[2].partner, 1U);
}

TEST(KnownCharacters, KnowLettersThatNormalisationMakesKnown) {
  EXPECT_THAT(words_of(latin_characters(ByteFallback::kAlways), "ﬁt ｂ"), IsEmpty());
}

TEST(KnownCharacters, AreAllOfThemInAVocabularyOfWords) {
  EXPECT_THAT(words_of(KnownCharacters(make_word_vocabulary("a b")), "日本 мир"), IsEmpty());
}

std::vector<std::string> parts_of(const std::string& text, std::int64_t most) {
  const auto vocabulary = make_word_vocabulary(text);
  std::vector<std::string> parts;
  for (const auto& part : split_to_fit(text, *vocabulary, most)) parts.push_back(vocabulary->decode(part.tokens));
  return parts;
}

TEST(SplitToFit, KeepsTextThatFitsAndElseMakesAPartOfEachSentence) {
  const std::string text = "One two. Three four five! Six? Seven.";

  EXPECT_THAT(parts_of(text, 7), ElementsAre(text));
  EXPECT_THAT(parts_of(text, 6), ElementsAre("One two.", "Three four five!", "Six?", "Seven."));
  EXPECT_THAT(parts_of(text, 3), ElementsAre("One two.", "Three four five!", "Six?", "Seven."));
}

TEST(SplitToFit, SplitsASentenceThatIsTooLongNearItsMiddle) {
  EXPECT_THAT(parts_of("a b c d e f g h", 4), ElementsAre("a b c d", "e f g h"));
  EXPECT_THAT(parts_of("a b c d e f g h i", 3), ElementsAre("a b", "c d", "e f", "g h i"));
}

TEST(SplitToFit, KeepsClosingQuotesWithTheirSentence) {
  EXPECT_THAT(parts_of("He said: « stop. » Then (he left.) Now", 5),
              ElementsAre("He said: « stop. »", "Then (he left.)", "Now"));
  EXPECT_THAT(parts_of("wait … go on", 2), ElementsAre("wait …", "go on"));
}

TEST(SplitToFit, DoesNotSplitAtEveryPoint) {
  EXPECT_THAT(parts_of("pi is 3.14 now", 2), ElementsAre("pi is", "3.14 now"));
}

TEST(SplitToFit, ReturnsNoPartsForTextWithoutTokens) {
  EXPECT_TRUE(split_to_fit("", *make_word_vocabulary("a"), 3).empty());
  EXPECT_TRUE(split_to_fit("  \t ", *make_word_vocabulary("a"), 3).empty());
}

RC_GTEST_PROP(SplitToFit, KeepsAllTokensAndRespectsTheLimit, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "b.", "c!", "é", "…", "。", "d"));
  const auto most = *rc::gen::inRange<std::int64_t>(1, 6);
  std::string text;
  for (const std::string& word : words) text += word + *rc::gen::element<std::string>(" ", "  ", "\t");
  const auto vocabulary = make_word_vocabulary("a b. c! é … 。 d");

  Tokens together;
  for (const auto& part : split_to_fit(text, *vocabulary, most)) {
    RC_ASSERT(!part.tokens.empty());
    RC_ASSERT(std::ssize(part.tokens) <= most);
    together.insert(together.end(), part.tokens.begin(), part.tokens.end());
  }

  RC_ASSERT(together == vocabulary->encode(text));
}

TEST(SplitToFit, SplitsMegabytesWithoutASpace) {
  const std::vector<std::string> letters = {"abc"};
  const auto vocabulary = build_vocabulary({std::span(letters)}, {.kind = VocabularyKind::kCharacters});
  const std::string text(2'000'000, 'a');

  std::size_t tokens = 0;
  for (const auto& part : split_to_fit(text, *vocabulary, 200)) {
    EXPECT_LE(part.tokens.size(), 200u);
    tokens += part.tokens.size();
  }

  EXPECT_EQ(tokens, text.size());
}

}  // namespace
}  // namespace edgewise
