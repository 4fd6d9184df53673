// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/causal_tokenizer.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "edgewise/text/tokenizer/tokenizer_codec.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

/// Expects that the exported tokenizer.json gives texts the tokens of the vocabulary.
void expect_same_tokens(const Vocabulary& vocabulary, const std::vector<std::string>& texts) {
  const auto files = write_causal_tokenizer(vocabulary, 40, "test");
  const TokenizerCodec codec(files.at("tokenizer.json"), "test");
  ASSERT_EQ(std::ssize(codec.tokens()), vocabulary.size());
  for (const std::string& text : texts) EXPECT_EQ(codec.encode(text), vocabulary.encode(text)) << text;
}

TEST(CausalTokenizer, SplitsTextsAsTheVocabularyThatItIsMadeOf) {
  const std::vector<std::string> texts = {"It was  raining.\n", "Äpfel, 3 rote!", "\t深い", "\xF0\x9F\x98\x80 smile"};
  const std::vector<std::span<const std::string>> sides = {std::span(texts)};
  const auto characters = build_vocabulary(sides, {.kind = VocabularyKind::kCharacters});
  const auto bytes = build_vocabulary(sides, {.kind = VocabularyKind::kBytes});

  expect_same_tokens(*characters, texts);
  expect_same_tokens(*characters, {"Was, zwei?", ""});  // unknown characters
  expect_same_tokens(*bytes, texts);
}

TEST(CausalTokenizer, RefusesPlaceholdersAndWords) {
  const std::vector<std::string> texts = {"It was raining.", "It is raining again."};
  const std::vector<std::span<const std::string>> sides = {std::span(texts)};
  const auto words = build_vocabulary(sides, {.kind = VocabularyKind::kWords});
  const auto placeholders =
      build_vocabulary(sides, {.kind = VocabularyKind::kSentencePiece, .size = 18, .placeholders = 1});

  EXPECT_EQ(error_of([&] { write_causal_tokenizer(*words, 40, "test"); }),
            "test: vocabulary.kind is words, needs characters, bytes, sentencepiece, or the tokenizer.json of an "
            "imported model");
  EXPECT_EQ(error_of([&] { write_causal_tokenizer(*placeholders, 40, "test"); }),
            "test: vocabulary.placeholders is above 0, needs 0");
}

}  // namespace
}  // namespace edgewise
