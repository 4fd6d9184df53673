// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/token_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "edgewise/base/random.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

using Numbers = std::vector<std::int64_t>;

const std::vector<std::string> kSentences = {"Wer über Brücken geht, sieht 5 Schiffe.", "das ist 日本語 und Ελληνικά",
                                             "ein Satz und noch ein Satz!", "Ja. Nein? Ja!"};

std::shared_ptr<const Vocabulary> make_vocabulary(VocabularyKind kind) {
  VocabularyOptions options = {.kind = kind};
  if (kind == VocabularyKind::kSentencePiece) {
    options.size = 300;
    options.byte_fallback = ByteFallback::kAlways;
  }
  return build_vocabulary({kSentences}, options);
}

const auto kKinds = {VocabularyKind::kWords, VocabularyKind::kCharacters, VocabularyKind::kSentencePiece};

/// Returns all pieces together. Expects that each is well-formed.
std::string decode(const Vocabulary& vocabulary, const Numbers& before, const Numbers& tokens) {
  TokenDecoder decoder(vocabulary, before);
  std::string text;
  const auto add = [&](const std::string& piece) {
    EXPECT_FALSE(find_bad_utf8(piece)) << quote(piece);
    text += piece;
  };
  for (const std::int64_t token : tokens) add(decoder.push(token));
  add(decoder.finish());
  return text;
}

Numbers concatenate(Numbers left, const Numbers& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

TEST(TokenDecoder, GivesTheTextThatTokensAddToTheTextBefore) {
  for (const VocabularyKind kind : kKinds) {
    const auto vocabulary = make_vocabulary(kind);
    for (const std::string& sentence : {kSentences[0], kSentences[1], std::string("Zug 🚂 über 語 é")}) {
      const Numbers tokens = vocabulary->encode(sentence);
      for (std::size_t split = 0; split <= tokens.size(); split += 3) {
        const Numbers before(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(split));
        const std::string text = vocabulary->decode(before);
        if (text.ends_with("\xEF\xBF\xBD")) continue;  // within a character of several tokens
        const Numbers rest(tokens.begin() + static_cast<std::ptrdiff_t>(split), tokens.end());
        EXPECT_EQ(text + decode(*vocabulary, before, rest), vocabulary->decode(tokens))
            << enum_name(kind) << ", " << split << " tokens before";
      }
    }
  }
}

TEST(TokenDecoder, HoldsBackTheBytesOfACharacterUntilItIsComplete) {
  const auto vocabulary = make_vocabulary(VocabularyKind::kSentencePiece);
  const Numbers tokens = vocabulary->encode("🚂");
  ASSERT_GE(tokens.size(), 4u);
  TokenDecoder decoder(*vocabulary, vocabulary->encode("ein"));
  std::string text;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) text += decoder.push(tokens[i]);
  EXPECT_TRUE(text.empty() || text == " ") << text;
  EXPECT_TRUE(decoder.push(tokens.back()).ends_with("🚂"));
}

TEST(TokenDecoder, GivesReplacementCharactersForBytesThatAreNoCharacter) {
  const auto vocabulary = make_vocabulary(VocabularyKind::kSentencePiece);
  const Numbers train = vocabulary->encode("🚂");
  const Numbers bad(40, train[train.size() - 2]);  // a byte that no character begins with
  const std::string text = decode(*vocabulary, {}, bad);
  EXPECT_EQ(count_code_points(text), 40u);
  EXPECT_EQ(text, vocabulary->decode(bad));
}

TEST(TokenDecoder, GivesWellFormedTextForRandomTokensInConstantMemory) {
  for (const VocabularyKind kind : kKinds) {
    const auto vocabulary = make_vocabulary(kind);
    RandomStream random(5);
    Numbers tokens;
    for (int i = 0; i < 500; ++i) {
      tokens.push_back(4 + static_cast<std::int64_t>(random.next_below(vocabulary->size() - 4)));
    }
    const std::string text = decode(*vocabulary, vocabulary->encode("ein"), tokens);
    if (kind == VocabularyKind::kSentencePiece) continue;  // bytes that happen to follow each other may join
    EXPECT_EQ("ein" + text, vocabulary->decode(concatenate(vocabulary->encode("ein"), tokens)));
  }
}

}  // namespace
}  // namespace edgewise
