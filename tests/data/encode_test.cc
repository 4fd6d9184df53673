// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

SentencePairs pairs_of(std::vector<std::string> inputs, std::vector<std::string> outputs) {
  return {.inputs = std::move(inputs), .outputs = std::move(outputs), .account = {}};
}

class EncodePairs : public testing::Test {
 protected:
  std::int64_t token(std::string_view word) const { return vocabulary_->encode(word).at(0); }

  std::shared_ptr<const Vocabulary> vocabulary_ =
      build_vocabulary({std::vector<std::string>{"a b c d e"}}, VocabularyOptions{});
};

TEST_F(EncodePairs, PutsOutputsBetweenBeginAndEnd) {
  const auto encoded = encode_pairs(pairs_of({"a b"}, {"c"}), *vocabulary_, *vocabulary_);

  ASSERT_EQ(encoded.pairs.size(), 1U);
  EXPECT_THAT(encoded.pairs[0].input, ElementsAre(token("a"), token("b")));
  EXPECT_THAT(encoded.pairs[0].output, ElementsAre(kBeginToken, token("c"), kEndToken));
}

TEST_F(EncodePairs, EndsInputsWhereAsked) {
  const auto encoded = encode_pairs(pairs_of({"a b"}, {"c"}), *vocabulary_, *vocabulary_, {.end_input = true});

  EXPECT_THAT(encoded.pairs[0].input, ElementsAre(token("a"), token("b"), kEndToken));
}

TEST_F(EncodePairs, SkipsLongSentencesOfEitherSideAndCountsThem) {
  const auto pairs = pairs_of({"a b", "a b c", "a", "d"}, {"c", "c", "a b c", "e e"});

  const auto encoded = encode_pairs(pairs, *vocabulary_, *vocabulary_, {.max_length = 2});

  EXPECT_THAT(encoded.kept, ElementsAre(0, 3));
  EXPECT_EQ(encoded.too_long, 2);
  EXPECT_THAT(encoded.pairs[1].output, ElementsAre(kBeginToken, token("e"), token("e"), kEndToken));
}

TEST_F(EncodePairs, TruncatesThemInstead) {
  const EncodeOptions options = {.max_length = 2, .too_long = LongSentences::kTruncate, .end_input = true};

  const auto encoded = encode_pairs(pairs_of({"a b c"}, {"c d e"}), *vocabulary_, *vocabulary_, options);

  EXPECT_EQ(encoded.too_long, 1);
  EXPECT_THAT(encoded.pairs[0].input, ElementsAre(token("a"), token("b"), kEndToken));
  EXPECT_THAT(encoded.pairs[0].output, ElementsAre(kBeginToken, token("c"), token("d"), kEndToken));
}

TEST_F(EncodePairs, LeavesOutWhatHasNoTokens) {
  const auto encoded = encode_pairs(pairs_of({" ", "a"}, {"a", "b"}), *vocabulary_, *vocabulary_);

  EXPECT_THAT(encoded.kept, ElementsAre(1));
  EXPECT_EQ(encoded.empty, 1);
}

TEST_F(EncodePairs, SaysWhyNoneIsLeft) {
  EXPECT_THAT(
      [&] {
        encode_pairs(pairs_of({" ", "a b"}, {"a", "b"}), *vocabulary_, *vocabulary_, {.max_length = 1});
      },
      ThrowsMessage<Error>("encode_pairs: none of 2 pairs is left, needs at least one; 1 have an empty side and "
                           "1 a sentence of more than 1 tokens"));
}

TEST(EncodeOptions, AreThoseOfTheData) {
  DataOptions data;
  data.max_length = 9;
  data.too_long = LongSentences::kTruncate;
  data.end_input = true;

  const EncodeOptions options = encode_options(data);

  EXPECT_EQ(options.max_length, 9);
  EXPECT_EQ(options.too_long, LongSentences::kTruncate);
  EXPECT_TRUE(options.end_input);
}

}  // namespace
}  // namespace edgewise
