// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/translate/words.h"
#include "tests/search/table_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kAllWords = "a b c d e f g. h! i";

/// Copies: the next token is the input's, and at its end the end token.
std::vector<float> copied(std::int64_t vocabulary, const Tokens& input, const Tokens& produced) {
  std::vector<float> row(static_cast<std::size_t>(vocabulary), -9.0f);
  const bool is_at_end = produced.size() >= input.size() || input[produced.size()] == kEndToken;
  row[is_at_end ? kEndToken : input[produced.size()]] = -0.125f;
  return row;
}

/// Looks at the token that it copies.
std::vector<float> copied_attention(const Tokens& input, const Tokens& produced) {
  std::vector<float> weights(input.size(), 0.0f);
  weights[std::min(produced.size(), input.size() - 1)] = 1.0f;
  return weights;
}

Coding coding_of_words() {
  const auto vocabulary = words_of(kAllWords);
  return {.vocabularies = {vocabulary, vocabulary}};
}

Translator::MakeScorer copying(const Coding& coding) {
  const std::int64_t size = coding.vocabularies.output->size();
  return [size] {
    return std::make_unique<TableScorer>(
        size, [size](const Tokens& input, const Tokens& produced) { return copied(size, input, produced); },
        copied_attention);
  };
}

Translator copier(Coding coding = coding_of_words(), TranslatorOptions options = {}) {
  options.search.length_norm = LengthNorm::kNone;
  auto scorers = copying(coding);
  return Translator(std::move(coding), scorers, std::move(options));
}

Translator::NextSentence sentences(std::vector<std::string> texts) {
  return [texts = std::move(texts), next = std::size_t{0}]() mutable -> std::optional<TranslationRequest> {
    if (next == texts.size()) return std::nullopt;
    return TranslationRequest{texts[next++]};
  };
}

std::vector<std::string> stream(Translator& translator, const Translator::NextSentence& next) {
  std::vector<std::string> texts;
  translator.translate(next, [&](const Translation& found) { texts.push_back(found.outputs.front().text); });
  return texts;
}

TEST(Translator, GivesTextTokensAndScores) {
  Coding coding = coding_of_words();
  coding.end_input = true;
  const Translation found = copier(coding, {.alignment = true}).translate("b a d");

  EXPECT_THAT(found.input_tokens, ElementsAre("b", "a", "d"));
  ASSERT_EQ(found.outputs.size(), 1u);
  EXPECT_EQ(found.outputs[0].text, "b a d");
  EXPECT_THAT(found.outputs[0].tokens, ElementsAre("b", "a", "d"));
  EXPECT_EQ(found.outputs[0].score, 4 * -0.125);
  EXPECT_EQ(found.outputs[0].log_probability, 4 * -0.125);
  EXPECT_THAT(found.outputs[0].alignment, ElementsAre(AlignedPair{0, 0}, AlignedPair{1, 1}, AlignedPair{2, 2}));
}

TEST(Translator, LeavesAnEmptySentenceEmpty) {
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
        copier(coding_of_words(), {.capacity = {.sentences = 3}, .workers = workers, .sentences_ahead = 10});
    EXPECT_EQ(stream(translator, sentences(texts)), texts);
    EXPECT_EQ(stream(translator, sentences(texts)), texts);  // with the scorers of the first time
  }
}

TEST(Translator, GivesTheFirstSentenceBackBeforeItReadsTheLast) {
  Translator translator = copier();
  std::promise<void> first_is_out;
  int number = 0;
  const auto next = [&]() -> std::optional<TranslationRequest> {
    if (number == 2) return std::nullopt;
    // Waits for the first translation before it gives the second sentence.
    if (number++ == 1) first_is_out.get_future().wait();
    return TranslationRequest{"a b"};
  };

  int taken = 0;
  translator.translate(next, [&](const Translation&) {
    if (taken++ == 0) first_is_out.set_value();
  });

  EXPECT_EQ(taken, 2);
}

TEST(Translator, ReadsNoFurtherAheadThanItMay) {
  Translator translator = copier(coding_of_words(), {.sentences_ahead = 5});
  std::atomic<int> given = 0;
  int most_ahead = 0;
  int taken = 0;
  const auto next = [&]() -> std::optional<TranslationRequest> {
    if (given == 100) return std::nullopt;
    ++given;
    return TranslationRequest{"a"};
  };
  translator.translate(next, [&](const Translation&) { most_ahead = std::max(most_ahead, given - taken++); });

  EXPECT_EQ(taken, 100);
  EXPECT_LE(most_ahead, 5 + 2);  // the one that is taken, and one that waits for room
}

TEST(Translator, SplitsWhatIsTooLongAtSentenceEndsAndLosesNothing) {
  Coding coding = coding_of_words();
  coding.max_input = 3;
  coding.end_input = true;
  const Translation found = copier(coding, {.alignment = true}).translate("a b g. c h! d e f i");

  EXPECT_EQ(found.outputs.at(0).text, "a b g. c h! d e f i");
  EXPECT_EQ(found.input_tokens.size(), 9u);
  EXPECT_FALSE(found.was_cut);
  ASSERT_EQ(found.outputs[0].attention.size(), 9u);
  for (std::int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(found.outputs[0].alignment.at(static_cast<std::size_t>(i)), (AlignedPair{i, i}));
    std::vector<float> to_itself(9);
    to_itself[static_cast<std::size_t>(i)] = 1;
    EXPECT_EQ(found.outputs[0].attention[static_cast<std::size_t>(i)], to_itself);
  }
  EXPECT_EQ(found.outputs[0].log_probability, -0.125 * (9 + 4));  // an end token for each of four parts
}

TEST(Translator, CutsWhatIsTooLongWhereThatIsAskedFor) {
  Coding coding = coding_of_words();
  coding.max_input = 2;
  coding.long_inputs = LongInputs::kCut;
  const Translation found = copier(coding).translate("a b c d");

  EXPECT_EQ(found.outputs.at(0).text, "a b");
  EXPECT_TRUE(found.was_cut);
  EXPECT_FALSE(copier(coding).translate("a b").was_cut);
}

TEST(Translator, GivesSeveralOutputsBestFirst) {
  TranslatorOptions options;
  options.search.beam = options.search.n_best = 3;
  const Translation found = copier(coding_of_words(), options).translate("a b");

  ASSERT_EQ(found.outputs.size(), 3u);
  EXPECT_EQ(found.outputs[0].text, "a b");
  EXPECT_GE(found.outputs[0].score, found.outputs[1].score);
  EXPECT_GE(found.outputs[1].score, found.outputs[2].score);
}

TEST(Translator, BeginsAnOutputAsItIsTold) {
  const std::vector<TranslationRequest> requests = {{"a b c", "d"}, {"a b c"}};
  Translator translator = copier();
  const auto found = translator.translate(requests);

  EXPECT_EQ(found[0].outputs[0].text, "d b c");
  EXPECT_EQ(found[1].outputs[0].text, "a b c");
}

TEST(Translator, ScoresGivenOutputsHoweverLongTheInput) {
  Coding coding = coding_of_words();
  coding.max_input = 1;
  TranslatorOptions options;
  options.search.kind = SearchKind::kScoring;
  Translator translator = copier(coding, options);
  const std::vector<TranslationRequest> requests = {{"a b", "a b"}, {"a b", "a c"}, {"a b", ""}};

  const auto found = translator.translate(requests);

  EXPECT_EQ(found[0].outputs[0].score, -0.375);
  EXPECT_EQ(found[1].outputs[0].score, -9.25);
  EXPECT_EQ(found[2].outputs[0].score, -9);
  EXPECT_EQ(found[1].outputs[0].text, "a c");
}

TEST(Translator, ProducesUnknownOnlyWhenAskedFor) {
  EXPECT_EQ(copier().translate("a x").outputs[0].text.find("<unknown>"), std::string::npos);
  EXPECT_EQ(copier(coding_of_words(), {.allow_unknown = true}).translate("a x").outputs[0].text, "a <unknown>");
}

TEST(Translator, TakesAllBeforeTheErrorOfItsSource) {
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

TEST(Translator, EndsWithTheErrorOfWhoTakes) {
  Translator translator = copier(coding_of_words(), {.sentences_ahead = 2});

  EXPECT_EQ(error_of([&] {
              translator.translate([]() -> std::optional<TranslationRequest> { return TranslationRequest{"a"}; },
                                   [](const Translation&) { fail("disk: full"); });
            }),
            "disk: full");
}

TEST(Translator, EndsWithTheErrorOfAScorer) {
  Coding coding = coding_of_words();
  const std::int64_t size = coding.vocabularies.output->size();
  Translator translator(coding, [size] {
    return std::make_unique<TableScorer>(size, [size](const Tokens&, const Tokens&) {
      return std::vector<float>(static_cast<std::size_t>(size), 1.0f);
    });
  });

  const std::string error = error_of([&] { translator.translate("a"); });
  EXPECT_TRUE(error.starts_with("search: the scorer gave 1 for token")) << error;
}

TEST(Translator, NamesWhatDoesNotFit) {
  const auto error_with = [](TranslatorOptions options) {
    return error_of([&] { copier(coding_of_words(), options); });
  };
  EXPECT_EQ(error_with({.workers = 0}), "Translator: workers is 0, at least 1 is needed");
  EXPECT_EQ(error_with({.threads = -1}), "Translator: threads is -1, at least 0 is needed");
  EXPECT_EQ(error_with({.sentences_ahead = 0}), "Translator: sentences_ahead is 0, at least 1 is needed");
  EXPECT_EQ(error_with({.tokens_ahead = 0}), "Translator: tokens_ahead is 0, at least 1 is needed");
  EXPECT_EQ(error_of([] {
              Translator(coding_of_words(), [] { return std::make_unique<TableScorer>(7, Table()); }).translate("a");
            }),
            "Translator: the model has 7 output tokens, but the vocabulary has 13; they must be equal");
}

}  // namespace
}  // namespace edgewise
