// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/generator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "tests/generate/language_model_folder.h"
#include "tests/search/text_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

const std::vector<std::string> kTexts = {"abcdefgh ijk.\n"};

std::unique_ptr<GenerationEngine> make_engine(const GeneratorOptions& options, std::int64_t max_positions,
                                              double end_bias) {
  const auto vocabulary = build_vocabulary({kTexts}, {.kind = VocabularyKind::kCharacters});
  const std::int64_t size = vocabulary->size();
  return std::make_unique<GenerationEngine>(
      vocabulary, max_positions,
      [=] {
        return std::make_unique<TextScorer>(size, biased_table(size, 3, 4.0, vocabulary->special().end, end_bias));
      },
      options);
}

/// Writes random letters.
Generator writer(const GeneratorOptions& options = {}, std::int64_t max_positions = 0, double end_bias = 0) {
  return Generator(make_engine(options, max_positions, end_bias));
}

std::string text_of(Generator& generator, std::string_view prompt, const GenerateOptions& options) {
  return generator.generate(prompt, options).samples.front().text;
}

TEST(Generator, ContinuesAPromptByAsManyTokensAsItMay) {
  Generator generator = writer();
  const GeneratedTexts texts = generator.generate("abc", {.max_tokens = 7, .samples = 2, .ignore_end = true});
  EXPECT_EQ(texts.prompt_tokens, 4);
  ASSERT_EQ(texts.samples.size(), 2u);
  for (const GeneratedText& sample : texts.samples) {
    EXPECT_EQ(sample.text.size(), 7u);
    EXPECT_EQ(sample.tokens, 7);
    EXPECT_EQ(sample.end, FinishReason::kLength);
  }
  EXPECT_NE(texts.samples[0].text, texts.samples[1].text);
  const GeneratedText long_text = generator.generate("", {.ignore_end = true}).samples.front();
  EXPECT_EQ(long_text.tokens, 256);
}

TEST(Generator, EndsWithTheEndToken) {
  Generator generator = writer({}, 0, 3);
  const GeneratedText text = generator.generate("abc", {.max_tokens = 200}).samples.front();
  EXPECT_EQ(text.end, FinishReason::kEnd);
  EXPECT_EQ(static_cast<std::int64_t>(text.text.size()), text.tokens);
  EXPECT_LT(text.tokens, 200);
}

TEST(Generator, GivesAPromptTheSameTextAloneAndBesideOthers) {
  std::vector<GenerationRequest> requests;
  for (const char* prompt : {"", "a", "abc", "abc", "ijk. abc abc abc"}) {
    GenerationRequest& request = requests.emplace_back(GenerationRequest{prompt, {}});
    request.options.samples = std::ssize(requests);
    request.options.max_tokens = 10 + 5 * std::ssize(requests);
    request.options.top_k = std::ssize(requests) % 3;
    request.options.seed = requests.size();
  }
  Generator together = writer({.capacity = 4});
  const std::vector<GeneratedTexts> texts = together.generate(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Generator alone = writer();
    const GeneratedTexts expected = alone.generate(requests[i].prompt, requests[i].options);
    ASSERT_EQ(texts[i].samples.size(), expected.samples.size());
    for (std::size_t sample = 0; sample < expected.samples.size(); ++sample) {
      EXPECT_EQ(texts[i].samples[sample].text, expected.samples[sample].text);
      EXPECT_EQ(texts[i].samples[sample].end, expected.samples[sample].end);
    }
  }
}

TEST(Generator, DependsOnTheSeed) {
  Generator generator = writer();
  const auto text = [&](std::uint64_t seed) {
    return text_of(generator, "a", {.max_tokens = 20, .seed = seed, .ignore_end = true});
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(Generator, EndsBeforeAStopString) {
  Generator generator = writer();
  const GenerateOptions options = {.max_tokens = 50, .ignore_end = true};
  const std::string whole = text_of(generator, "abc", options);
  GenerateOptions stopped = options;
  stopped.stop = {"qq", whole.substr(20, 3), whole.substr(30, 2)};
  const std::size_t first = std::min(whole.find(stopped.stop[1]), whole.find(stopped.stop[2]));
  std::vector<GeneratedPiece> pieces;
  const std::vector<GenerationRequest> requests = {{"abc", stopped}};
  generator.stream(requests, [&](const GeneratedPiece& piece) {
    pieces.push_back(piece);
    return true;
  });
  std::string streamed;
  for (const GeneratedPiece& piece : pieces) streamed += piece.text;
  EXPECT_EQ(streamed, whole.substr(0, first));
  EXPECT_EQ(pieces.back().end, FinishReason::kStop);
  EXPECT_EQ(text_of(generator, "abc", stopped), streamed);
}

TEST(Generator, StreamsEachPartAsSoonAsItIsCertainUntilTheSinkEndsTheText) {
  Generator generator = writer();
  const std::vector<GenerationRequest> requests = {{"abc", {.max_tokens = 50, .ignore_end = true}},
                                                   {"b", {.max_tokens = 5, .ignore_end = true}}};
  std::vector<std::int64_t> tokens(2);
  std::vector<std::optional<FinishReason>> ends(2);
  generator.stream(requests, [&](const GeneratedPiece& piece) {
    if (!piece.end) {
      EXPECT_EQ(piece.tokens, ++tokens[piece.request]);
    }
    ends[piece.request] = piece.end;
    return piece.request == 1 || piece.tokens < 8;
  });
  EXPECT_EQ(tokens, (std::vector<std::int64_t>{8, 5}));
  EXPECT_EQ(ends[0], FinishReason::kStop);
  EXPECT_EQ(ends[1], FinishReason::kLength);
}

TEST(Generator, EndsOnARequestToStop) {
  StopRequest stop = false;
  Generator generator = writer({.stop = &stop});
  const std::vector<GenerationRequest> requests = {{"abc", {.max_tokens = 1'000'000'000, .ignore_end = true}}};
  std::int64_t tokens = 0;
  EXPECT_THROW(generator.stream(requests,
                                [&](const GeneratedPiece& piece) {
                                  tokens = piece.tokens;
                                  stop = tokens == 30;
                                  return true;
                                }),
               StopException);
  EXPECT_EQ(tokens, 30);
}

TEST(Generator, RefusesPromptsAndOptionsThatDoNotFit) {
  Generator generator = writer();
  const auto error = [&](std::string_view prompt, const GenerateOptions& options) {
    return error_of([&] { generator.generate(prompt, options); });
  };
  EXPECT_EQ(error("ab\xFF", {}), "generate: the prompt has a byte at 2 that is not UTF-8, needs UTF-8");
  EXPECT_EQ(error("", {.max_tokens = 0}), "generate: max_tokens is 0, needs a whole number from 1 to 1000000000");
  EXPECT_EQ(error("", {.temperature = std::nan("")}), "generate: temperature is nan, needs a number from 0 to 1000");
  EXPECT_EQ(error("", {.temperature = -1}), "generate: temperature is -1.0, needs a number from 0 to 1000");
  EXPECT_EQ(error("", {.top_k = -1}), "generate: top_k is -1, needs a whole number from 0 to 10000000");
  EXPECT_EQ(error("", {.top_p = std::nan("")}), "generate: top_p is nan, needs a number above 0 and at most 1");
  EXPECT_EQ(error("", {.min_p = std::nan("")}), "generate: min_p is nan, needs a number from 0 to 1");
  EXPECT_EQ(error("", {.repetition_penalty = std::nan("")}),
            "generate: repetition_penalty is nan, needs a number from 1 to 100");
  EXPECT_EQ(error("", {.samples = 1001}), "generate: samples is 1001, needs a whole number from 1 to 1000");
  EXPECT_EQ(error("", {.stop = {""}}), "generate: a stop string is empty, needs at least one character");
  EXPECT_EQ(error_of([] { writer({.capacity = 0}); }), "generate: capacity is 0, needs at least 1");
  EXPECT_EQ(error_of([] { writer({.threads = -1}); }), "generate: threads is -1, needs at least 0");
}

class GeneratorOfADirectory : public testing::Test {
 protected:
  GeneratorOfADirectory() { std::filesystem::create_directories(folder_); }
  ~GeneratorOfADirectory() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("edgewise-generator-" + std::to_string(::getpid()));
};

TEST_F(GeneratorOfADirectory, ContinuesTextsInEachPrecisionAloneAndTogether) {
  write_language_model(folder_ / "writer");
  for (const RuntimePrecision precision : {RuntimePrecision::kFp32, RuntimePrecision::kBf16, RuntimePrecision::kInt8}) {
    Generator generator(folder_ / "writer", {.precision = precision});
    std::vector<GenerationRequest> requests;
    for (const char* prompt : {"abc", "", "hijk.\nabcdef abc def"}) {
      requests.push_back({prompt, {.max_tokens = 40, .samples = 3, .ignore_end = true}});
    }
    const std::vector<GeneratedTexts> together = generator.generate(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const GeneratedTexts alone = generator.generate(requests[i].prompt, requests[i].options);
      for (std::size_t sample = 0; sample < 3; ++sample) {
        EXPECT_EQ(alone.samples[sample].text, together[i].samples[sample].text);
        EXPECT_EQ(alone.samples[sample].text.size(), 40u);
      }
    }
  }
}

TEST_F(GeneratorOfADirectory, WritesBeyondLearnedPositionsAndSeesTheEndOfALongPrompt) {
  TransformerOptions options = small_language_model_options();
  options.positions = PositionKind::kLearned;
  options.max_positions = 12;
  write_language_model(folder_ / "short", "abc", options);
  Generator generator(folder_ / "short");
  const GenerateOptions greedy = {.max_tokens = 100, .temperature = 0, .ignore_end = true};
  const std::string text = text_of(generator, "abcabc", greedy);
  EXPECT_EQ(text.size(), 100u);
  for (std::size_t size = 0; size < 100; ++size) {
    EXPECT_EQ(text_of(generator, "abcabc" + text.substr(0, size), greedy).substr(0, 100 - size), text.substr(size));
  }
}

}  // namespace
}  // namespace edgewise
