// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/translate/text_translator.h"
#include "tests/support/error_of.h"
#include "tests/translate/copying_model.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<AlignedTranslation> translated(const std::vector<std::string>& texts) {
  Translator translator = copier(make_codec(), {.alignment = true});
  return translate_aligned(translator, texts, "en");
}

TEST(AlignedTexts, SentencesAreTranslatedAndJoinedWithWhatIsBetweenThem) {
  const auto found = translated({" a b g.  d h! ", "", "g."});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].text, " a b g.  d h! ");
  EXPECT_EQ(found[1].text, "");
  EXPECT_EQ(found[2].text, "g.");
}

TEST(AlignedTexts, TokensAndAlignmentsReferToTheWholeText) {
  const auto found = translated({"c", "a b g.  d"});
  ASSERT_EQ(found.size(), 2u);
  const std::vector<ByteRange> tokens = {{0, 1}, {2, 3}, {4, 6}, {8, 9}};
  EXPECT_EQ(found[1].input_tokens, tokens);
  EXPECT_EQ(found[1].output_tokens, tokens);
  EXPECT_THAT(found[1].alignment,
              ElementsAre(AlignedPair{0, 0}, AlignedPair{1, 1}, AlignedPair{2, 2}, AlignedPair{3, 3}));
}

TEST(AlignedTexts, ASentenceWithoutLettersIsCopiedAsOneToken) {
  const auto found = translated({" ? !"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, " ? !");
  EXPECT_EQ(found[0].output_tokens, (std::vector<ByteRange>{{1, 4}}));
  EXPECT_THAT(found[0].alignment, ElementsAre(AlignedPair{0, 0}));
}

TEST(AlignedTexts, NoTextsHaveNoTranslations) { EXPECT_THAT(translated({}), IsEmpty()); }

TEST(AlignedTexts, ATranslatorWithoutAlignmentsIsRefused) {
  Translator translator = copier();
  const std::vector<std::string> texts = {"a"};
  EXPECT_EQ(error_of([&] { translate_aligned(translator, texts); }),
            "translate_aligned: translator has no alignments, needs TranslatorOptions::alignment");
}

}  // namespace
}  // namespace edgewise
