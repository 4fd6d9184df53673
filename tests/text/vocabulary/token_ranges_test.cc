// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/token_ranges.h"

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <string>
#include <vector>

#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/piece_codec.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {
namespace {

/// Returns the bytes of each token.
std::vector<std::string> parts_of(const std::string& text, const std::vector<std::string>& tokens) {
  std::vector<std::string> parts;
  for (const ByteRange& range : find_token_ranges(text, tokens))
    parts.push_back(text.substr(range.begin, range.size()));
  return parts;
}

using Texts = std::vector<std::string>;

TEST(TokenRanges, TokensAreFoundInTheirOrder) {
  EXPECT_EQ(parts_of("to be, or not to be", {"to", "be", ",", "or", "not", "to", "be"}),
            (Texts{"to", "be", ",", "or", "not", "to", "be"}));
  EXPECT_EQ(parts_of("  a \n b ", {"\u2581a", "\u2581", "\u2581b"}), (Texts{"a", "", "b"}));
  EXPECT_EQ(find_token_ranges("", {}), std::vector<ByteRange>());
}

TEST(TokenRanges, CaseAndCompatibilityVariantsAreEqual) {
  EXPECT_EQ(parts_of("\u00c9TE \uff21\u2460 stra\u00dfe", {"\u00e9te", "A1", "stra", "sse"}),
            (Texts{"\u00c9TE", "\uff21\u2460", "stra", "\u00dfe"}));
  EXPECT_EQ(parts_of("e\u0301t", {"\u00e9", "t"}), (Texts{"e\u0301", "t"}));
}

TEST(TokenRanges, ATokenThatIsNotInTheTextGetsTheTextUpToTheNextOneThatIs) {
  EXPECT_EQ(parts_of("the qux cat", {"the", "<unknown>", "cat"}), (Texts{"the", "qux", "cat"}));
  EXPECT_EQ(parts_of("the qux", {"the", "<unknown>"}), (Texts{"the", "qux"}));
  EXPECT_EQ(parts_of("qux quux the", {"<unknown>", "<unknown>", "the"}), (Texts{"qux quux", "", "the"}));
}

TEST(TokenRanges, AShortTokenIsNotFoundInsideTheTextOfAMissingOne) {
  EXPECT_EQ(parts_of("xaz a dog", {"<unknown>", "a", "dog"}), (Texts{"xaz", "a", "dog"}));
  EXPECT_EQ(parts_of("xaz a", {"<unknown>", "\u2581a"}), (Texts{"xaz", "a"}));
}

/// Returns the bytes that the SentencePiece library gives for each piece, without white space at their ends.
std::vector<std::string> library_parts(const sentencepiece::SentencePieceProcessor& processor,
                                       const std::string& text) {
  std::vector<std::string> parts;
  const auto encoded = processor.EncodeAsImmutableProto(text);
  for (const auto& piece : encoded.pieces()) {
    parts.emplace_back(strip_space(std::string_view(text).substr(piece.begin(), piece.end() - piece.begin())));
  }
  return parts;
}

TEST(TokenRanges, RangesOfPiecesAreThoseOfTheSentencePieceLibrary) {
  const std::vector<std::string> sentences = {
      "The quick brown fox jumps over the lazy dog .", "Der schnelle braune Fuchs springt \u00fcber den Hund !",
      "\u00c9tat, caf\u00e9 et \u0153uvre (1999) \u2013 d\u00e9j\u00e0 vu ?", "one two  three\tfour",
      "\uff21\uff22 \u2460\u2461 \uff53ix e\u0301te\u0301"};
  VocabularyOptions options = {.kind = VocabularyKind::kSentencePiece, .size = 60};
  const auto vocabulary = build_vocabulary({std::span(sentences)}, options);
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.LoadFromSerializedProto(vocabulary->serialize()).ok());
  for (const std::string& sentence : sentences) {
    std::vector<std::string> tokens;
    for (const std::int64_t token : vocabulary->encode(sentence)) tokens.emplace_back(vocabulary->token_text(token));
    EXPECT_EQ(parts_of(sentence, tokens), library_parts(processor, sentence));
  }
}

}  // namespace
}  // namespace edgewise
