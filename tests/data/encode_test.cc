// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/base/error.h"
#include "tests/text/mapped_testing.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

constexpr SpecialTokens kSpecial;

SentencePairs pairs_of(std::vector<std::string> inputs, std::vector<std::string> outputs) {
  return {.inputs = std::move(inputs), .outputs = std::move(outputs), .report = {}};
}

class EncodePairs : public testing::Test {
 protected:
  std::int64_t token(std::string_view word) const { return vocabulary_->encode(word).at(0); }

  EncodedPairs encode(const SentencePairs& pairs, const EncodeOptions& options = {}) const {
    return encode_pairs(pairs, PairEncoder(vocabulary_, vocabulary_, options));
  }

  std::vector<std::string> inputs(const EncodedPairs& encoded) const {
    std::vector<std::string> texts;
    for (const TokenPair& pair : encoded.pairs) texts.push_back(vocabulary_->decode(pair.input));
    return texts;
  }

  std::shared_ptr<const Vocabulary> vocabulary_ =
      build_vocabulary({std::vector<std::string>{"a b c d e"}}, VocabularyOptions{});
};

TEST_F(EncodePairs, PutsOutputsBetweenBeginAndEnd) {
  const auto encoded = encode(pairs_of({"a b"}, {"c"}));

  ASSERT_EQ(encoded.pairs.size(), 1U);
  EXPECT_THAT(encoded.pairs[0].input, ElementsAre(token("a"), token("b")));
  EXPECT_THAT(encoded.pairs[0].output, ElementsAre(kSpecial.begin, token("c"), kSpecial.end));
}

TEST_F(EncodePairs, EndsInputsWithTheEndTokenByOption) {
  const auto encoded = encode(pairs_of({"a b"}, {"c"}), {.end_input = true});

  EXPECT_THAT(encoded.pairs[0].input, ElementsAre(token("a"), token("b"), kSpecial.end));
}

TEST_F(EncodePairs, SkipsAndCountsLongSentencesOfEitherSide) {
  const auto encoded = encode(pairs_of({"a b", "a b c", "a", "d"}, {"c", "c", "a b c", "e e"}), {.max_length = 2});

  EXPECT_THAT(inputs(encoded), ElementsAre("a b", "d"));
  EXPECT_EQ(encoded.report.too_long, 2);
  EXPECT_THAT(encoded.pairs[1].output, ElementsAre(kSpecial.begin, token("e"), token("e"), kSpecial.end));
}

TEST_F(EncodePairs, TruncatesLongSentencesByOption) {
  const EncodeOptions options = {.max_length = 2, .too_long = LongSentences::kTruncate, .end_input = true};

  const auto encoded = encode(pairs_of({"a b c"}, {"c d e"}), options);

  EXPECT_EQ(encoded.report.truncated, 1);
  EXPECT_THAT(encoded.pairs[0].input, ElementsAre(token("a"), token("b"), kSpecial.end));
  EXPECT_THAT(encoded.pairs[0].output, ElementsAre(kSpecial.begin, token("c"), token("d"), kSpecial.end));
}

TEST_F(EncodePairs, SkipsAndCountsShortSentencesAndUnevenPairs) {
  const auto pairs = pairs_of({"a", "a b", "a b c d", "a b c d e", "a b"}, {"a b", "a b", "a b", "a b", "a b c d e"});

  const auto encoded = encode(pairs, {.min_length = 2, .max_ratio = 2.0});

  EXPECT_THAT(inputs(encoded), ElementsAre("a b", "a b c d"));
  EXPECT_EQ(encoded.report.describe_skipped(),
            "1 pair with too short a sentence, 2 with sides of too different length");
}

TEST_F(EncodePairs, SkipsAndCountsPairsWithAnEmptySide) {
  const auto encoded = encode(pairs_of({" ", "a"}, {"a", "b"}));

  EXPECT_THAT(inputs(encoded), ElementsAre("a"));
  EXPECT_EQ(encoded.report.empty, 1);
}

TEST_F(EncodePairs, ListsTheReasonsWhenNoPairIsLeft) {
  EXPECT_THAT(
      [&] {
        encode(pairs_of({" ", "a b"}, {"a", "b"}), {.max_length = 1});
      },
      ThrowsMessage<Error>("encode_pairs: none of 2 pairs is left, needs at least one; left out: 1 pair with a side "
                           "without tokens, 1 with too long a sentence"));
}

TEST_F(EncodePairs, RejectsSamplingWithoutSentencePiece) {
  EXPECT_THAT([&] { PairEncoder(vocabulary_, vocabulary_, {.output_sampling = {.strength = 0.1}}); },
              ThrowsMessage<Error>("PairEncoder: vocabulary.output_sampling is 0.1, but the vocabulary is of words, "
                                   "needs sentencepiece"));
}

TEST(EncodePairsOfLanguages, PutsLanguagesIntoTheirPlaces) {
  // `</s>` 0, `<unk>` 1, `a` 2, `b` 3, `eng` 4, `fra` 5, `<pad>` 6.
  const TokenList words = list_of_words({"a", "b", "eng", "fra"});
  const auto encode = [&](LanguagePlace place, std::string input) {
    const auto vocabulary = vocabulary_of(with_languages(words, place, {{"eng", 4}, {"fra", 5}}));
    const PairLanguages languages = {place == LanguagePlace::kOutputBeforeInput ? "" : "eng", "fra"};
    const PairEncoder encoder(vocabulary, vocabulary, {.end_input = true, .languages = languages});
    EncodeReport report;
    return encoder.encode(input, "b", 0, report).value();
  };

  const TokenPair first = encode(LanguagePlace::kBeforeBoth, "a");
  EXPECT_THAT(first.input, ElementsAre(4, 2, 0));
  EXPECT_THAT(first.output, ElementsAre(6, 5, 3, 0));
  const TokenPair last = encode(LanguagePlace::kAfterInput, "a");
  EXPECT_THAT(last.input, ElementsAre(2, 0, 4));
  EXPECT_THAT(last.output, ElementsAre(6, 5, 3, 0));
  const TokenPair in_input = encode(LanguagePlace::kOutputBeforeInput, "a");
  EXPECT_THAT(in_input.input, ElementsAre(5, 2, 0));
  EXPECT_THAT(in_input.output, ElementsAre(6, 3, 0));
}

TEST(EncodePairsOfLanguages, NeedsOptionsThatTheVocabularyHas) {
  const auto vocabulary =
      vocabulary_of(with_languages(list_of_words({"a", "eng"}), LanguagePlace::kBeforeBoth, {{"eng", 3}}));
  EXPECT_THAT(
      [&] {
        PairEncoder(vocabulary, vocabulary, {.languages = {"eng", "eng"}});
      },
      ThrowsMessage<Error>("PairEncoder: data.end_input is false, needs true, as the vocabulary says; set "
                           "data.end_input=true"));
  EXPECT_THAT(
      [&] {
        PairEncoder(vocabulary, vocabulary, {.end_input = true, .languages = {"eng", ""}});
      },
      ThrowsMessage<Error>("PairEncoder: the output language is not given, needs one of the model's 1 "
                           "languages, such as eng; set --to or data.output_language"));
}

TEST(EncodePairsOfLanguages, HasAFingerprintOfItsOwn) {
  const auto vocabulary = vocabulary_of(
      with_languages(list_of_words({"a", "eng", "fra"}), LanguagePlace::kBeforeBoth, {{"eng", 3}, {"fra", 4}}));
  const auto fingerprint = [&](const PairLanguages& languages) {
    return PairEncoder(vocabulary, vocabulary, {.end_input = true, .languages = languages}).fingerprint();
  };
  EXPECT_EQ(fingerprint({"eng", "fra"}), fingerprint({"eng", "fra"}));
  EXPECT_NE(fingerprint({"eng", "fra"}), fingerprint({"fra", "eng"}));
  EXPECT_NE(fingerprint({"eng", "fra"}), fingerprint({"eng", "eng"}));
}

class SampledPairs : public testing::Test {
 protected:
  static std::shared_ptr<const Vocabulary> learn_vocabulary() {
    const std::vector<std::string> sentences = {"Le chat mange la pomme.", "La souris mange le chat."};
    return build_vocabulary({sentences},
                            {.kind = VocabularyKind::kSentencePiece, .size = 40, .model = SentencePieceModel::kBpe});
  }

  std::optional<TokenPair> encode(const EncodeOptions& options, std::uint64_t seed) const {
    EncodeReport report;
    return PairEncoder(vocabulary_, vocabulary_, options).encode("Le chat mange.", "Le chat.", seed, report);
  }

  std::shared_ptr<const Vocabulary> vocabulary_ = learn_vocabulary();
};

TEST_F(SampledPairs, DifferOnlyOnTheSampledSide) {
  const TokenPair plain = *encode({}, 0);
  int inputs = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const TokenPair pair = *encode({.input_sampling = {.strength = 0.5}}, seed);
    inputs += pair.input != plain.input ? 1 : 0;
    EXPECT_EQ(pair.output, plain.output);
    EXPECT_EQ(vocabulary_->decode(pair.input), "Le chat mange.");
    EXPECT_EQ(encode({.input_sampling = {.strength = 0.5}}, seed)->input, pair.input);
  }
  EXPECT_GT(inputs, 5);
}

TEST_F(SampledPairs, AreLeftOutByTheMostLikelySegmentationAndNeverExceedMaxLength) {
  const TokenPair plain = *encode({}, 0);
  const EncodeOptions options{.max_length = std::ssize(plain.input), .input_sampling = {.strength = 0.5}};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto pair = encode(options, seed);
    ASSERT_TRUE(pair.has_value());
    EXPECT_LE(pair->input.size(), plain.input.size());
  }
}

TEST(EncodeOptions, ComeFromTheDataOptions) {
  DataOptions data;
  data.max_length = 9;
  data.too_long = LongSentences::kTruncate;
  data.end_input = true;
  data.min_length = 2;
  data.max_ratio = 3.5;

  const EncodeOptions options = make_encode_options(data);

  EXPECT_EQ(options.max_length, 9);
  EXPECT_EQ(options.too_long, LongSentences::kTruncate);
  EXPECT_TRUE(options.end_input);
  EXPECT_EQ(options.min_length, 2);
  EXPECT_EQ(options.max_ratio, 3.5);
}

}  // namespace
}  // namespace edgewise
