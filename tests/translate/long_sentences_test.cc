// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/long_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "tests/support/error_of.h"
#include "tests/translate/words.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

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
