// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/encoded_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "edgewise/base/error.h"
#include "edgewise/data/batches.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

/// Returns a corpus whose inputs are `name` with a number: a0, a1, …
TrainingText numbered_text(const std::string& name, std::size_t count, double weight) {
  SentencePairs pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.inputs.push_back(name + std::to_string(i));
    pairs.outputs.push_back("x");
  }
  pairs.report.kept = static_cast<std::int64_t>(count);
  return {.name = name, .text = std::make_shared<TextInMemory>(std::move(pairs)), .weight = weight};
}

std::shared_ptr<const Vocabulary> vocabulary_of(const std::vector<TrainingText>& corpora) {
  std::vector<std::string> sentences = {"x"};
  for (const TrainingText& corpus : corpora) {
    const SentencePairs pairs = sample_pairs(*corpus.text, 0);
    sentences.insert(sentences.end(), pairs.inputs.begin(), pairs.inputs.end());
  }
  return build_vocabulary({sentences});
}

std::shared_ptr<const EncodedText> make_source(const std::vector<TrainingText>& corpora,
                                               const EncodeOptions& options = {}) {
  const auto vocabulary = vocabulary_of(corpora);
  return std::make_shared<EncodedText>(corpora, PairEncoder(vocabulary, vocabulary, options));
}

using Counts = std::map<std::string, int>;

/// Counts for each pair how often the batches of `epochs` epochs have the pair.
Counts count_batched_pairs(BatchStream& stream, const Vocabulary& vocabulary, std::int64_t epochs) {
  Counts counts;
  while (stream.position().epoch < epochs) {
    for (const std::int64_t token : stream.next().input_tokens) ++counts[std::string(vocabulary.token_text(token))];
  }
  return counts;
}

TEST(EncodedText, VisitsEachPairAsOftenAsTheWeightOfItsCorpus) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<TrainingText> corpora = {numbered_text("a", *rc::gen::inRange<std::size_t>(1, 1500), 2.0),
                                               numbered_text("b", *rc::gen::inRange<std::size_t>(1, 1500), 1.0),
                                               numbered_text("c", 1100, 0.5)};
    const BatchOptions options{.tokens = 0, .sentences = 100, .bucket = 1, .window = *rc::gen::inRange(0, 3000)};
    BatchStream stream(make_source(corpora), options, *rc::gen::inRange<std::uint64_t>(0, 100));

    const Counts counts = count_batched_pairs(stream, *vocabulary_of(corpora), 2);

    RC_ASSERT(stream.position().epoch == 2);
    for (const auto& [pair, count] : counts) {
      RC_ASSERT(count == (pair[0] == 'a' ? 4 : pair[0] == 'b' ? 2 : 1));
    }
    std::size_t all = 0;
    for (const TrainingText& corpus : corpora) all += static_cast<std::size_t>(corpus.text->report().kept);
    RC_ASSERT(counts.size() == all);
  }));
}

TEST(EncodedText, VisitsDifferentPairsInDifferentEpochsForAFractionalWeight) {
  const std::vector<TrainingText> corpora = {numbered_text("a", 1000, 0.25)};
  const auto source = make_source(corpora);

  const auto first = source->read({.block = 0}, 7, 0);
  const auto second = source->read({.block = 0}, 7, 1);

  EXPECT_NEAR(static_cast<double>(first.size()), 250.0, 70.0);  // five standard deviations
  EXPECT_NE(first.front().input, second.front().input);
  EXPECT_EQ(first.front().input, source->read({.block = 0}, 7, 0).front().input);
  EXPECT_FALSE(source->is_same_every_epoch());
  EXPECT_TRUE(make_source({numbered_text("a", 10, 3.0)})->is_same_every_epoch());
}

TEST(CountRepetitions, AveragesToTheWeightOverManyEpochs) {
  EXPECT_TRUE(rc::check([] {
    const double weight = *rc::gen::inRange(1, 4000) / 1000.0;
    const double draw = *rc::gen::inRange(0, 1000) / 1000.0;
    std::int64_t sum = 0;
    for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
      const std::int64_t times = count_repetitions(weight, epoch, draw);
      RC_ASSERT(times == static_cast<std::int64_t>(std::floor(weight)) ||
                times == static_cast<std::int64_t>(std::ceil(weight)));
      sum += times;
    }
    RC_ASSERT(std::abs(static_cast<double>(sum) - 50 * weight) < 1.0 + 1e-9);
  }));
}

class SampledText : public testing::Test {
 protected:
  static std::shared_ptr<const EncodedText> source(double strength) {
    SentencePairs pairs;
    for (int i = 0; i < 40; ++i) {
      pairs.inputs.push_back("Le chat mange la pomme rouge.");
      pairs.outputs.push_back("La souris mange le chat.");
    }
    pairs.report.kept = 40;
    const auto vocabulary =
        build_vocabulary({pairs.inputs, pairs.outputs},
                         {.kind = VocabularyKind::kSentencePiece, .size = 40, .model = SentencePieceModel::kBpe});
    const TrainingText text{.name = "text", .text = std::make_shared<TextInMemory>(pairs), .weight = 1.0};
    return std::make_shared<EncodedText>(
        std::vector<TrainingText>{text},
        PairEncoder(vocabulary, vocabulary, {.input_sampling = {.strength = strength}}));
  }

  static constexpr BatchOptions kOptions = {.tokens = 0, .sentences = 3, .bucket = 1};
};

TEST_F(SampledText, DiffersBetweenPairsAndBetweenEpochs) {
  const auto pairs = source(0.4)->read({.block = 0, .copy = 0}, 1, 0);
  EXPECT_NE(pairs[0].input, pairs[1].input);
  EXPECT_NE(source(0.4)->read({.block = 0, .copy = 0}, 1, 1)[0].input, pairs[0].input);
  EXPECT_NE(source(0.4)->read({.block = 0, .copy = 1}, 1, 0).size(), 40U);  // weight 1 has no second copy
  EXPECT_FALSE(source(0.4)->is_same_every_epoch());
  EXPECT_NE(source(0.4)->fingerprint(), source(0.3)->fingerprint());
}

TEST_F(SampledText, ContinuesFromAnyPositionWithTheSameSamples) {
  BatchStream uninterrupted(source(0.4), kOptions, 5);
  for (int i = 0; i < 17; ++i) uninterrupted.next();
  BatchStream resumed(source(0.4), kOptions, 5);
  resumed.seek(uninterrupted.position());

  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(resumed.position(), uninterrupted.position());
    ASSERT_EQ(resumed.next().input_tokens, uninterrupted.next().input_tokens);
  }
}

TEST(EncodedText, CountsThePairsThatEncodingLeavesOut) {
  SentencePairs pairs;
  for (int i = 0; i < 2500; ++i) {
    pairs.inputs.emplace_back(i % 5 == 0 ? "a b c" : "a");
    pairs.outputs.emplace_back("a");
  }
  pairs.report.kept = 2500;
  const TrainingText text{.name = "text", .text = std::make_shared<TextInMemory>(pairs), .weight = 3.0};

  const EncodeReport report = make_source({text}, {.max_length = 2})->count_pairs();
  EXPECT_EQ(report.kept, 2000);
  EXPECT_EQ(report.too_long, 500);

  EXPECT_THAT([&] { make_source({text}, {.min_length = 9})->count_pairs(); },
              ThrowsMessage<Error>("encode_pairs: none of 2500 pairs is left, needs at least one; left out: 2500 pairs "
                                   "with too short a sentence"));
}

TEST(EncodedText, RejectsNoCorporaAndZeroWeights) {
  EXPECT_THAT([] { make_source({}); }, ThrowsMessage<Error>("EncodedText: corpora are none, needs at least one"));
  EXPECT_THAT([] { make_source({numbered_text("a", 3, 0.0)}); },
              ThrowsMessage<Error>("EncodedText: a has weight 0, needs one above 0"));
}

TEST(EncodedText, IsRejectedByABatchStreamWhenNoPairIsLeft) {
  EXPECT_THAT([] { BatchStream(make_source({numbered_text("a", 3, 1.0)}, {.min_length = 9}), {}, 1); },
              ThrowsMessage<Error>("BatchStream: the source has no pair in 1001 epochs, needs at least one"));
}

}  // namespace
}  // namespace edgewise
