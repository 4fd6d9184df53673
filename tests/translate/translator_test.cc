// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/support/error_of.h"
#include "tests/translate/copying_model.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Translator::SentenceSource sentences(std::vector<std::string> texts) {
  return [texts = std::move(texts), next = std::size_t{0}]() mutable -> std::optional<TranslationRequest> {
    if (next == texts.size()) return std::nullopt;
    return TranslationRequest{texts[next++]};
  };
}

std::vector<std::string> stream(Translator& translator, const Translator::SentenceSource& next) {
  std::vector<std::string> texts;
  translator.translate(next, [&](const Translation& found) { texts.push_back(found.outputs.front().text); });
  return texts;
}

TEST(Translator, ReturnsTextTokensAndScores) {
  TextCodec codec = make_codec();
  codec.end_input = true;
  const Translation found = copier(codec, {.alignment = true}).translate("b a d");

  EXPECT_THAT(found.input_tokens, ElementsAre("b", "a", "d"));
  ASSERT_EQ(found.outputs.size(), 1u);
  EXPECT_EQ(found.outputs[0].text, "b a d");
  EXPECT_THAT(found.outputs[0].tokens, ElementsAre("b", "a", "d"));
  EXPECT_EQ(found.outputs[0].score, 4 * -0.125);
  EXPECT_EQ(found.outputs[0].log_probability, 4 * -0.125);
  EXPECT_THAT(found.outputs[0].alignment, ElementsAre(AlignedPair{0, 0}, AlignedPair{1, 1}, AlignedPair{2, 2}));
}

TEST(Translator, TranslatesAnEmptySentenceToAnEmptyOne) {
  for (const std::string text : {"", "   "}) {
    const Translation found = copier().translate(text);
    EXPECT_EQ(found.outputs.at(0).text, "");
    EXPECT_EQ(found.outputs.at(0).score, 0);
    EXPECT_THAT(found.input_tokens, IsEmpty());
  }
}

TEST(Translator, KeepsOrderAndCountWithAnyNumberOfWorkers) {
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int word = 0; word < i * 7 % 11; ++word)
      text += (word == 0 ? "" : " ") + std::string(1, static_cast<char>('a' + (i + word) % 6));
    texts.push_back(text);
  }
  for (const int workers : {1, 2, 3}) {
    Translator translator =
        copier(make_codec(), {.capacity = {.sentences = 3}, .workers = workers, .max_pending_sentences = 10});
    EXPECT_EQ(stream(translator, sentences(texts)), texts);
    EXPECT_EQ(stream(translator, sentences(texts)), texts);  // reuses the scorers of the first call
  }
}

TEST(Translator, ReturnsTheFirstTranslationBeforeItReadsTheLastSentence) {
  Translator translator = copier();
  std::promise<void> first_is_out;
  int number = 0;
  const auto next = [&]() -> std::optional<TranslationRequest> {
    if (number == 2) return std::nullopt;
    // The second sentence becomes available after the first translation.
    if (number++ == 1) first_is_out.get_future().wait();
    return TranslationRequest{"a b"};
  };

  int taken = 0;
  translator.translate(next, [&](const Translation&) {
    if (taken++ == 0) first_is_out.set_value();
  });

  EXPECT_EQ(taken, 2);
}

TEST(Translator, LimitsPendingSentences) {
  Translator translator = copier(make_codec(), {.max_pending_sentences = 5});
  std::atomic<int> given = 0;
  int max_pending = 0;
  int taken = 0;
  const auto next = [&]() -> std::optional<TranslationRequest> {
    if (given == 100) return std::nullopt;
    ++given;
    return TranslationRequest{"a"};
  };
  translator.translate(next, [&](const Translation&) { max_pending = std::max(max_pending, given - taken++); });

  EXPECT_EQ(taken, 100);
  EXPECT_LE(max_pending, 5 + 2);  // the translation being taken, and a sentence that waits to be put
}

TEST(Translator, SplitsLongInputsAtSentenceEndsAndKeepsAllTokens) {
  TextCodec codec = make_codec();
  codec.max_input = 3;
  codec.end_input = true;
  const Translation found = copier(codec, {.alignment = true}).translate("a b g. c h! d e f i");

  EXPECT_EQ(found.outputs.at(0).text, "a b g. c h! d e f i");
  EXPECT_EQ(found.input_tokens.size(), 9u);
  EXPECT_FALSE(found.was_cut);
  ASSERT_EQ(found.outputs[0].attention.size(), 9u);
  const std::vector<std::vector<float>> to_itself = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0}, {0, 1},
                                                     {1, 0},    {0, 1},    {1, 0},    {0, 1}};
  const std::vector<std::int64_t> part_begin = {0, 0, 0, 3, 3, 5, 5, 7, 7};
  for (std::size_t i = 0; i < 9; ++i) {
    const auto token = static_cast<std::int64_t>(i);
    EXPECT_EQ(found.outputs[0].alignment.at(i), (AlignedPair{token, token}));
    EXPECT_EQ(found.outputs[0].attention[i], (AttentionRow{part_begin[i], to_itself[i]})) << i;
  }
  EXPECT_EQ(found.outputs[0].log_probability, -0.125 * (9 + 4));  // an end token for each of four parts
}

TEST(Translator, CutsLongInputsIfRequested) {
  TextCodec codec = make_codec();
  codec.max_input = 2;
  const TranslatorOptions cut = {.long_inputs = LongInputs::kCut};
  const Translation found = copier(codec, cut).translate("a b c d");

  EXPECT_EQ(found.outputs.at(0).text, "a b");
  EXPECT_TRUE(found.was_cut);
  EXPECT_FALSE(copier(codec, cut).translate("a b").was_cut);
}

/// The longest sequences that scorers got: inputs with end tokens, and outputs with begin tokens.
struct LongestSequences {
  std::size_t input = 0;
  std::size_t output = 0;
};

/// Makes scorers that favour a word, so that outputs end only at their limit.
ScorerFactory endless_scorers(const TextCodec& codec, LongestSequences& longest) {
  const std::int64_t size = codec.vocabularies.output->size();
  return [size, &longest] {
    return std::make_unique<TableScorer>(size, [size, &longest](const Tokens& input, const Tokens& produced) {
      longest.input = std::max(longest.input, input.size());
      longest.output = std::max(longest.output, produced.size() + 1);
      std::vector<float> row(static_cast<std::size_t>(size), -9.0f);
      row[kSpecialTokens.size()] = -0.125f;
      return row;
    });
  };
}

TEST(Translator, NeedsNoMorePositionsThanTheModelHas) {
  for (const bool end_input : {false, true}) {
    for (const LongInputs long_inputs : {LongInputs::kSplit, LongInputs::kCut}) {
      for (const std::int64_t max_input : {0, 2, 100}) {
        TextCodec codec = make_codec();
        codec.end_input = end_input;
        codec.max_positions = 4;
        LongestSequences longest;
        Translator translator(codec, endless_scorers(codec, longest),
                              {.max_input = max_input, .long_inputs = long_inputs});
        const Translation found = translator.translate("a b c d e f a b c d e f");

        const std::size_t most = max_input == 2 ? 2U + (end_input ? 1U : 0U) : 4U;
        EXPECT_LE(longest.input, most);
        EXPECT_EQ(longest.input == most, long_inputs == LongInputs::kCut || max_input == 2 || end_input);
        EXPECT_EQ(longest.output, 4U);
        EXPECT_EQ(found.was_cut, long_inputs == LongInputs::kCut);
        EXPECT_EQ(translator.search_options().max_length, 3);
      }
    }
  }
}

TEST(Translator, UsesEachPositionOfTheModelUnderTheRulesOfHuggingFace) {
  for (const bool force_end : {false, true}) {
    TextCodec codec = make_codec();
    codec.max_positions = 4;
    LongestSequences longest;
    const SearchOptions search = {.rules = BeamRules::kHuggingFace, .max_length = 99, .force_end = force_end};
    Translator translator(codec, endless_scorers(codec, longest), {.search = search});

    EXPECT_EQ(translator.translate("a").outputs[0].tokens.size(), force_end ? 3u : 4u);
    EXPECT_EQ(longest.output, 4u);
  }
}

TEST(Translator, NamesASentenceForWhichTheModelHasTooFewPositionsIfItCannotBeSplit) {
  TextCodec codec = make_codec();
  codec.max_positions = 3;
  Translator translator = copier(codec, {.search = SearchOptions{.kind = SearchKind::kScoring}});
  const auto error_with = [&](const std::string& input, const std::string& output) {
    const std::vector<TranslationRequest> requests = {{input, output}};
    return error_of([&] { translator.translate(requests); });
  };

  EXPECT_EQ(error_with("a b c", "a b"), "no error");
  EXPECT_EQ(error_with("a b c d", "a"),
            "translate: the input \"a b c d\" has 4 tokens, needs at most model.max_positions, which is 3; shorten the "
            "input");
  EXPECT_EQ(
      error_with("a", "a b c"),
      "translate: the prefix \"a b c\" has 3 tokens, needs fewer than model.max_positions, which is 3; shorten the "
      "prefix");
}

TEST(Translator, ReturnsSeveralOutputsBestFirst) {
  TranslatorOptions options;
  options.beam = options.n_best = 3;
  const Translation found = copier(make_codec(), options).translate("a b");

  ASSERT_EQ(found.outputs.size(), 3u);
  EXPECT_EQ(found.outputs[0].text, "a b");
  EXPECT_GE(found.outputs[0].score, found.outputs[1].score);
  EXPECT_GE(found.outputs[1].score, found.outputs[2].score);
}

TEST(Translator, BeginsOutputsWithTheirPrefix) {
  const std::vector<TranslationRequest> requests = {{"a b c", "d"}, {"a b c"}};
  Translator translator = copier();
  const auto found = translator.translate(requests);

  EXPECT_EQ(found[0].outputs[0].text, "d b c");
  EXPECT_EQ(found[1].outputs[0].text, "a b c");
}

TEST(Translator, ScoresGivenOutputsOfInputsAboveTheLimit) {
  TextCodec codec = make_codec();
  codec.max_input = 1;
  Translator translator = copier(codec, {.search = SearchOptions{.kind = SearchKind::kScoring}});
  const std::vector<TranslationRequest> requests = {{"a b", "a b"}, {"a b", "a c"}, {"a b", ""}};

  const auto found = translator.translate(requests);

  EXPECT_EQ(found[0].outputs[0].score, -0.375);
  EXPECT_EQ(found[1].outputs[0].score, -9.25);
  EXPECT_EQ(found[2].outputs[0].score, -9);
  EXPECT_EQ(found[1].outputs[0].text, "a c");
}

TEST(Translator, ProducesUnknownOnlyIfAllowed) {
  EXPECT_EQ(copier().translate("a x").outputs[0].text.find("<unknown>"), std::string::npos);
  EXPECT_EQ(copier(make_codec(), {.allow_unknown = true}).translate("a x").outputs[0].text, "a <unknown>");
}

TEST(Translator, DeliversAllTranslationsBeforeAnErrorOfTheSource) {
  Translator translator = copier();
  int given = 0;
  std::vector<std::string> taken;
  const auto next = [&]() -> std::optional<TranslationRequest> {
    if (given++ == 2) fail("source: broken");
    return TranslationRequest{"a b"};
  };

  EXPECT_EQ(error_of([&] {
              translator.translate(next, [&](const Translation& found) { taken.push_back(found.outputs[0].text); });
            }),
            "source: broken");
  EXPECT_THAT(taken, ElementsAre("a b", "a b"));
}

TEST(Translator, ThrowsTheErrorOfTheSink) {
  Translator translator = copier(make_codec(), {.max_pending_sentences = 2});

  EXPECT_EQ(error_of([&] {
              translator.translate([]() -> std::optional<TranslationRequest> { return TranslationRequest{"a"}; },
                                   [](const Translation&) { fail("disk: full"); });
            }),
            "disk: full");
}

TEST(Translator, ThrowsTheErrorOfAScorer) {
  TextCodec codec = make_codec();
  const std::int64_t size = codec.vocabularies.output->size();
  Translator translator(codec, [size] {
    return std::make_unique<TableScorer>(size, [size](const Tokens&, const Tokens&) {
      return std::vector<float>(static_cast<std::size_t>(size), 1.0f);
    });
  });

  const std::string error = error_of([&] { translator.translate("a"); });
  EXPECT_TRUE(error.starts_with("search: the scorer gave 1 for token")) << error;
}

/// Makes scorers that count their steps and set the stop request at the third.
ScorerFactory stopping_scorers(const TextCodec& codec, StopRequest& stop, std::atomic<int>& steps) {
  const std::int64_t size = codec.vocabularies.output->size();
  return [size, &stop, &steps] {
    return std::make_unique<TableScorer>(size, [size, &stop, &steps](const Tokens& input, const Tokens& produced) {
      if (++steps == 3) stop = true;
      return copying_scores(size, input, produced);
    });
  };
}

TEST(Translator, ThrowsStopExceptionWithinAStepOfARequest) {
  for (const int workers : {1, 3}) {
    StopRequest stop = false;
    std::atomic<int> steps = 0;
    const TextCodec codec = make_codec();
    Translator translator(codec, stopping_scorers(codec, stop, steps),
                          {.capacity = {.sentences = 1}, .workers = workers, .stop = &stop});
    const std::vector<TranslationRequest> requests(50, {"a b c d e f"});

    EXPECT_THROW(translator.translate(requests), StopException);
    EXPECT_LT(steps, 3 + 2 * workers);
    stop = false;
    steps = 0;
    EXPECT_THROW(stream(translator, sentences(std::vector<std::string>(50, "a b c d e f"))), StopException);
    EXPECT_LT(steps, 3 + 2 * workers);
    stop = false;
    EXPECT_EQ(translator.translate("a b").outputs[0].text, "a b");
  }
}

TEST(Translator, ErrorsNameOptionsThatDoNotFit) {
  const auto error_with = [](TranslatorOptions options) { return error_of([&] { copier(make_codec(), options); }); };
  EXPECT_EQ(error_with({.workers = 0}), "Translator: workers is 0, needs at least 1");
  EXPECT_EQ(error_with({.search = SearchOptions{.kind = SearchKind::kSampling}, .beam = 4}),
            "Translator: search.beam is 4, needs search.kind=beam");
  EXPECT_EQ(error_with({.search = SearchOptions{.length_norm = LengthNorm::kAverage}, .length_penalty = 1.0}),
            "Translator: search.length_penalty is 1.0, needs search.length_norm=gnmt or power");
  EXPECT_EQ(error_with({.threads = -1}), "Translator: threads is -1, needs at least 0");
  EXPECT_EQ(error_with({.max_pending_sentences = 0}), "Translator: max_pending_sentences is 0, needs at least 1");
  EXPECT_EQ(error_with({.max_pending_tokens = 0}), "Translator: max_pending_tokens is 0, needs at least 1");
  EXPECT_EQ(error_of([] {
              Translator(make_codec(), [] { return std::make_unique<TableScorer>(7, Table()); }).translate("a");
            }),
            "Translator: the model has 7 output tokens, needs the 13 of the vocabulary");
}

}  // namespace
}  // namespace edgewise
