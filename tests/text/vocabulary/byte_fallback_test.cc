// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/text/vocabulary/token_ranges.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using Lines = std::vector<std::string>;
using Tokens = std::vector<std::int64_t>;

/// Returns sentences of random words, from which a vocabulary of a few thousand tokens can be learned.
const Lines& few_sentences() {
  static const Lines kLines = [] {
    RandomStream random(1, 1);
    Lines lines;
    for (int i = 0; i < 1500; ++i) {
      std::string line;
      for (int letter = 0; letter < 30; ++letter) {
        const auto drawn = static_cast<int>(random.uniform() * 12);
        line += drawn == 10 ? ' ' : (drawn == 11 ? '7' : static_cast<char>('a' + drawn));
      }
      lines.push_back(line);
    }
    return lines;
  }();
  return kLines;
}

class ByteFallbackTest : public testing::TestWithParam<SentencePieceModel> {
 protected:
  static VocabularyOptions options(std::int64_t size, ByteFallback bytes = ByteFallback::kAuto) {
    return {.kind = VocabularyKind::kSentencePiece, .size = size, .model = GetParam(), .byte_fallback = bytes};
  }
  static std::shared_ptr<const Vocabulary> build(const VocabularyOptions& options) {
    return build_vocabulary({few_sentences()}, options);
  }
};

INSTANTIATE_TEST_SUITE_P(, ByteFallbackTest, testing::Values(SentencePieceModel::kUnigram, SentencePieceModel::kBpe),
                         [](const auto& test) {
                           return test.param == SentencePieceModel::kUnigram ? "Unigram" : "Bpe";
                         });

std::int64_t byte_token(const Vocabulary& vocabulary, int byte) {
  const std::string text = fmt::format("<0x{:02X}>", byte);
  for (std::int64_t token = 0; token < vocabulary.size(); ++token) {
    if (vocabulary.token_text(token) == text) return token;
  }
  ADD_FAILURE() << text;
  return -1;
}

Tokens byte_tokens(const Vocabulary& vocabulary, std::string_view bytes) {
  Tokens tokens;
  for (const char byte : bytes) tokens.push_back(byte_token(vocabulary, static_cast<unsigned char>(byte)));
  return tokens;
}

TEST_P(ByteFallbackTest, RestoresCharactersThatTheTrainingSentencesDoNotHave) {
  const auto vocabulary = build(options(400, ByteFallback::kAlways));
  for (const std::string text : {"a 猫 b", "😀", "<end> & {@}", "abba Ωmega", "\u0627\u0644"}) {
    const Tokens tokens = vocabulary->encode(text);
    EXPECT_EQ(vocabulary->decode(tokens), text);
    EXPECT_THAT(tokens, testing::Each(testing::Ge(4)));
  }
}

TEST_P(ByteFallbackTest, LargeVocabulariesHaveItByDefault) {
  EXPECT_THAT(build(options(1023))->encode("猫"), testing::Contains(SpecialTokens().unknown));
  const auto vocabulary = build(options(1024));
  EXPECT_EQ(vocabulary->size(), 1024);
  EXPECT_EQ(vocabulary->decode(vocabulary->encode("猫")), "猫");
  EXPECT_THAT(build(options(1024, ByteFallback::kNever))->encode("猫"), testing::Contains(SpecialTokens().unknown));
}

TEST_P(ByteFallbackTest, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  const auto vocabulary = build(options(400, ByteFallback::kAlways));
  const auto decoded = [&](std::string_view bytes) { return vocabulary->decode(byte_tokens(*vocabulary, bytes)); };
  EXPECT_EQ(decoded("\xE7\x8C\xAB"), "猫");
  EXPECT_EQ(decoded("\xE7\x8C"), "\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\xAB\xE7\x8C\xAB"), "\uFFFD猫");
  EXPECT_EQ(decoded("\xC0\x80"), "\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\xFF"), "\uFFFD");
  Tokens tokens = byte_tokens(*vocabulary, "\xE7");
  const Tokens word = vocabulary->encode("ab");
  tokens.insert(tokens.end(), word.begin(), word.end());
  EXPECT_EQ(vocabulary->decode(tokens), "\uFFFD ab");
}

TEST_P(ByteFallbackTest, OutputsDoNotContainTheBytesOfControlCharacters) {
  const auto vocabulary = build(options(400, ByteFallback::kAlways));
  const Tokens& forbidden = vocabulary->rules().forbidden;
  EXPECT_TRUE(std::ranges::is_sorted(forbidden));
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_control = byte < 0x20 || byte == 0x7F;
    EXPECT_EQ(std::ranges::binary_search(forbidden, byte_token(*vocabulary, byte)), is_control) << byte;
  }
  EXPECT_EQ(build(options(100))->rules(), SentenceRules());
}

TEST_P(ByteFallbackTest, TheTextOfACharacterBelongsToItsFirstByte) {
  const auto vocabulary = build(options(400, ByteFallback::kAlways));
  const std::string text = "ab 猫 ba";
  Lines tokens;
  for (const std::int64_t token : vocabulary->encode(text)) tokens.emplace_back(vocabulary->token_text(token));
  std::string parts;
  for (const ByteRange& range : find_token_ranges(text, tokens)) parts += text.substr(range.begin, range.size());
  EXPECT_EQ(parts, "ab猫ba");
}

TEST_P(ByteFallbackTest, PlaceholdersAreTokensOfTheirOwn) {
  VocabularyOptions four = options(400);
  four.placeholders = 4;
  const auto vocabulary = parse_vocabulary(build(four)->serialize(), "m");
  for (std::int64_t number = 0; number < 4; ++number) {
    EXPECT_THAT(vocabulary->encode(placeholder(number)), testing::Contains(4 + number));
    EXPECT_EQ(vocabulary->token_text(4 + number), placeholder(number));
  }
  EXPECT_EQ(vocabulary->decode(vocabulary->encode(fmt::format("ab{} a{}", placeholder(3), placeholder(0)))),
            fmt::format("ab{} a{}", placeholder(3), placeholder(0)));
  EXPECT_EQ(placeholder(0), "\uE001");
  EXPECT_EQ(error_of([] { static_cast<void>(placeholder(100)); }), "placeholder: number is 100, needs 0 to 99");
}

TEST_P(ByteFallbackTest, DigitsCanBeTokensOfTheirOwn) {
  VocabularyOptions split = options(400);
  split.split_digits = true;
  const auto longest_number = [](const Vocabulary& vocabulary) {
    std::int64_t longest = 0;
    for (std::int64_t token = 4; token < vocabulary.size(); ++token) {
      longest = std::max<std::int64_t>(longest, std::ranges::count(vocabulary.token_text(token), '7'));
    }
    return longest;
  };
  EXPECT_EQ(longest_number(*build(split)), 1);
  if (GetParam() == SentencePieceModel::kBpe) {
    EXPECT_GT(longest_number(*build(options(400))), 1);
  }
}

}  // namespace
}  // namespace edgewise
