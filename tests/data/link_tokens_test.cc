// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/link_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/data/batches.h"
#include "edgewise/data/encode.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kSentences = {"Le chat mange la pomme.", "La souris mange le chat."};

std::shared_ptr<const Vocabulary> make_pieces() {
  return build_vocabulary({kSentences},
                          {.kind = VocabularyKind::kSentencePiece, .size = 40, .model = SentencePieceModel::kBpe});
}

std::shared_ptr<const Vocabulary> make_words() { return build_vocabulary({kSentences}, {}); }

TokenPair encode(const std::shared_ptr<const Vocabulary>& vocabulary, const EncodeOptions& options,
                 std::string_view input, std::string_view output, const std::vector<WordLink>& links,
                 std::uint64_t seed = 0) {
  EncodeReport report;
  return PairEncoder(vocabulary, vocabulary, options).encode(input, output, seed, report, links).value();
}

/// Returns how many of the tokens from `first` on are the text of a word.
std::int64_t count_tokens(const Vocabulary& vocabulary, const std::vector<std::int64_t>& tokens, std::int64_t first,
                          std::string_view word) {
  std::string text;
  std::int64_t count = 0;
  while (text.size() < word.size()) text += vocabulary.token_text(tokens.at(static_cast<std::size_t>(first + count++)));
  EXPECT_EQ(text, word);
  return count;
}

TEST(LinkTokens, LinksTheNodesOfWords) {
  const auto vocabulary = make_words();
  EXPECT_THAT(encode(vocabulary, {}, "Le chat mange", "mange chat", {{1, 1}, {2, 0}}).links,
              ElementsAre(NodeLink{2, 0}, NodeLink{1, 1}));
  EXPECT_THAT(encode(vocabulary, {}, "Le chat", "chat", {}).links, IsEmpty());
}

TEST(LinkTokens, LinksTheEndTokensOfBothSides) {
  EXPECT_THAT(encode(make_words(), {.end_input = true}, "Le chat", "chat", {{1, 0}}).links,
              ElementsAre(NodeLink{1, 0}, NodeLink{2, 1}));
}

TEST(LinkTokens, LinksAllTokensOfWordsInAnySegmentation) {
  const auto vocabulary = make_pieces();
  for (const double strength : {0.0, 0.6}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const EncodeOptions options = {.input_sampling = {.strength = strength},
                                     .output_sampling = {.strength = strength}};
      const TokenPair pair = encode(vocabulary, options, "Le chat mange.", "chat  Le", {{0, 1}, {1, 0}}, seed);
      const std::int64_t le = count_tokens(*vocabulary, pair.input, 0, "\u2581Le");
      const std::int64_t chat = count_tokens(*vocabulary, pair.input, le, "\u2581chat");
      const std::int64_t output_chat = count_tokens(*vocabulary, pair.output, 1, "\u2581chat");
      const std::int64_t output_le = count_tokens(*vocabulary, pair.output, 1 + output_chat, "\u2581Le");
      std::vector<NodeLink> expected;
      for (std::int64_t decoder = 0; decoder < output_chat + output_le; ++decoder) {
        const bool is_chat = decoder < output_chat;
        for (std::int64_t i = 0; i < (is_chat ? chat : le); ++i) expected.push_back({(is_chat ? le : 0) + i, decoder});
      }
      EXPECT_EQ(pair.links, expected);
    }
  }
}

TEST(LinkTokens, LeavesOutWordsThatAChangedTextLacks) {
  const TokenPair pair = encode(make_words(), {.augment = {.no_stop = 1.0}}, "Le chat .", "chat .", {{1, 0}, {2, 1}});
  EXPECT_THAT(pair.links, ElementsAre(NodeLink{1, 0}));
}

TEST(LinkTokens, CountsWordsInFrontOfTheText) {
  const auto vocabulary = make_words();
  const std::vector<std::int64_t> tokens = vocabulary->encode("Le chat");
  const SentenceFrame input = {.before = {7}, .after = {}};
  const SentenceFrame output = {.before = {2, 7}, .after = {3}};
  const std::vector<WordLink> links = {{0, 0}, {2, 1}};

  EXPECT_THAT(
      link_tokens({*vocabulary, "Le chat", tokens, input, ">>fra<< "}, {*vocabulary, "Le chat", tokens, output}, links),
      ElementsAre(NodeLink{2, 2}));
}

TEST(BatchStream, KeepsTheLinksOfItsPairs) {
  std::vector<TokenPair> pairs;
  for (std::int64_t i = 0; i < 40; ++i) {
    pairs.push_back({{4, 5, 6}, {2, 7, 3}});
    if (i % 3 == 1) pairs.back().links = {{i % 2, 0}, {2, 1}};
  }
  BatchStream stream(pairs, {.tokens = 0, .sentences = 5}, /*seed=*/1);
  std::size_t links = 0;
  while (stream.position().epoch == 0) links += stream.next().linked_edges.size();
  EXPECT_EQ(links, 2U * 13U);

  std::vector<TokenPair> others = pairs;
  others[1].links.pop_back();
  EXPECT_NE(PairsInMemory(others).fingerprint(), PairsInMemory(pairs).fingerprint());
}

}  // namespace
}  // namespace edgewise
