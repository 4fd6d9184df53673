// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/aligned_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/search/table_scorer.h"
#include "tests/support/error_of.h"
#include "tests/translate/copying_model.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

std::vector<AlignedTranslation> translated(const std::vector<std::string>& texts) {
  Translator translator = copying_translator("a b c. d e. f.", {.alignment = true});
  return translate_aligned(translator, SentenceSplitter("en"), texts);
}

TEST(AlignedTexts, SentencesAreTranslatedAndJoinedWithWhatIsBetweenThem) {
  const auto found = translated({" a b c.  d e. ", "", "f."});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].text, " a b c.  d e. ");
  EXPECT_EQ(found[1].text, "");
  EXPECT_EQ(found[2].text, "f.");
}

TEST(AlignedTexts, TokensAndAlignmentsReferToTheWholeText) {
  const auto found = translated({"a b c.  d"});
  ASSERT_EQ(found.size(), 1u);
  const std::vector<ByteRange> tokens = {{0, 1}, {2, 3}, {4, 6}, {8, 9}};
  EXPECT_EQ(found[0].input_tokens, tokens);
  EXPECT_EQ(found[0].output_tokens, tokens);
  EXPECT_THAT(found[0].alignment,
              ElementsAre(AlignedPair{0, 0}, AlignedPair{1, 1}, AlignedPair{2, 2}, AlignedPair{3, 3}));
}

TEST(AlignedTexts, ATranslatorWithoutAlignmentsIsRefused) {
  Translator translator = copying_translator("a");
  const std::vector<std::string> texts = {"a"};
  EXPECT_EQ(error_of([&] { translate_aligned(translator, SentenceSplitter(), texts); }),
            "translate_aligned: translator has no alignments, needs TranslatorOptions::alignment");
}

}  // namespace
}  // namespace edgewise
