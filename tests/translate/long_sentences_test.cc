// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/long_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "tests/translate/words.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

std::vector<std::string> pieces_of(const std::string& text, std::int64_t most) {
  const auto vocabulary = words_of(text);
  std::vector<std::string> pieces;
  for (const Tokens& piece : split_to_fit(text, *vocabulary, most)) pieces.push_back(vocabulary->decode(piece));
  return pieces;
}

TEST(SplitToFit, LeavesWhatFitsAndElseGivesEachSentenceAPieceOfItsOwn) {
  const std::string text = "One two. Three four five! Six? Seven.";

  EXPECT_THAT(pieces_of(text, 7), ElementsAre(text));
  EXPECT_THAT(pieces_of(text, 6), ElementsAre("One two.", "Three four five!", "Six?", "Seven."));
  EXPECT_THAT(pieces_of(text, 3), ElementsAre("One two.", "Three four five!", "Six?", "Seven."));
}

TEST(SplitToFit, PartsASentenceThatIsTooLongNearItsMiddle) {
  EXPECT_THAT(pieces_of("a b c d e f g h", 4), ElementsAre("a b c d", "e f g h"));
  EXPECT_THAT(pieces_of("a b c d e f g h i", 3), ElementsAre("a b", "c d", "e f", "g h i"));
}

TEST(SplitToFit, KeepsClosingQuotesWithTheirSentence) {
  EXPECT_THAT(pieces_of("He said: « stop. » Then (he left.) Now", 5),
              ElementsAre("He said: « stop. »", "Then (he left.)", "Now"));
  EXPECT_THAT(pieces_of("wait … go on", 2), ElementsAre("wait …", "go on"));
}

TEST(SplitToFit, DoesNotTakeEveryPointForAnEnd) {
  EXPECT_THAT(pieces_of("pi is 3.14 now", 2), ElementsAre("pi is", "3.14 now"));
}

TEST(SplitToFit, GivesNothingForNothing) {
  EXPECT_TRUE(split_to_fit("", *words_of("a"), 3).empty());
  EXPECT_TRUE(split_to_fit("  \t ", *words_of("a"), 3).empty());
}

RC_GTEST_PROP(SplitToFit, LosesNoTokenAndExceedsNoLimit, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "b.", "c!", "é", "…", "。", "d"));
  const auto most = *rc::gen::inRange<std::int64_t>(1, 6);
  std::string text;
  for (const std::string& word : words) text += word + *rc::gen::element<std::string>(" ", "  ", "\t");
  const auto vocabulary = words_of("a b. c! é … 。 d");

  Tokens together;
  for (const Tokens& piece : split_to_fit(text, *vocabulary, most)) {
    RC_ASSERT(!piece.empty());
    RC_ASSERT(std::ssize(piece) <= most);
    together.insert(together.end(), piece.begin(), piece.end());
  }

  RC_ASSERT(together == vocabulary->encode(text));
}

TEST(SplitToFit, PartsMegabytesWithoutASpace) {
  const std::vector<std::string> letters = {"abc"};
  const auto vocabulary = build_vocabulary({std::span(letters)}, {.kind = VocabularyKind::kCharacters});
  const std::string text(2'000'000, 'a');

  std::size_t tokens = 0;
  for (const Tokens& piece : split_to_fit(text, *vocabulary, 200)) {
    EXPECT_LE(piece.size(), 200u);
    tokens += piece.size();
  }

  EXPECT_EQ(tokens, text.size());
}

}  // namespace
}  // namespace edgewise
