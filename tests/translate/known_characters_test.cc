// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/known_characters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/translate/words.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace edgewise
