// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "edgewise/base/random.h"
#include "edgewise/search/hypothesis.h"
#include "tests/search/text_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 12;
constexpr std::int64_t kEnd = 3;
const GenerationRules kRules = {.allowed = {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, .end_tokens = {kEnd, 11}};

struct Continuations {
  std::vector<Tokens> tokens;
  std::vector<FinishReason> reasons;

  friend bool operator==(const Continuations&, const Continuations&) = default;
};

/// Serves a list of texts, whose ids become their indices. A sample stops after the token `stop`.
class TextQueue : public GenerationQueue {
 public:
  TextQueue(const std::vector<GenerationInput>& inputs, std::int64_t stop) : inputs_(inputs), stop_(stop) {
    for (const GenerationInput& input : inputs) {
      const auto samples = static_cast<std::size_t>(std::max<std::int64_t>(input.samples, 0));
      results.push_back({std::vector<Tokens>(samples), std::vector<FinishReason>(samples)});
    }
  }

  std::optional<GenerationInput> next(bool /*is_busy*/) override {
    if (next_ == inputs_.size()) return std::nullopt;
    GenerationInput input = inputs_[next_];
    input.id = static_cast<std::int64_t>(next_++);
    return input;
  }

  bool put_token(std::int64_t id, std::int64_t sample, std::int64_t token) override {
    results.at(static_cast<std::size_t>(id)).tokens.at(static_cast<std::size_t>(sample)).push_back(token);
    return token != stop_;
  }

  void put_end(std::int64_t id, std::int64_t sample, FinishReason reason) override {
    results.at(static_cast<std::size_t>(id)).reasons.at(static_cast<std::size_t>(sample)) = reason;
    ++num_ends;
  }

  std::vector<Continuations> results;
  std::int64_t num_ends = 0;

 private:
  const std::vector<GenerationInput>& inputs_;
  std::int64_t stop_;
  std::size_t next_ = 0;
};

std::vector<Continuations> run(Scorer& scorer, const std::vector<GenerationInput>& inputs, std::int64_t capacity = 32,
                               std::int64_t stop = -1) {
  TextQueue queue(inputs, stop);
  generate(scorer, queue, kRules, capacity);
  return queue.results;
}

/// Returns the tokens that a model with a limited context computes the next token from.
Tokens context_of(Tokens text, std::int64_t context) {
  const std::int64_t half = std::max<std::int64_t>(context / 2, 1);
  while (context > 0 && std::ssize(text) > context) text.erase(text.begin(), text.begin() + half);
  return text;
}

/// Continues a text token by token, each from the table.
Continuations definition(const Table& table, const GenerationInput& input) {
  Continuations continuations;
  for (std::int64_t i = 0; i < input.samples; ++i) {
    RandomStream random(input.seed, static_cast<std::uint64_t>(i));
    Tokens text = input.prompt;
    Tokens& tokens = continuations.tokens.emplace_back();
    FinishReason reason = FinishReason::kLength;
    for (std::int64_t length = 0; length < input.max_tokens && reason == FinishReason::kLength; ++length) {
      const std::vector<float> row = table({}, context_of(text, input.context));
      std::vector<NextToken> next;
      for (std::int64_t token = 0; token < kVocabulary; ++token) {
        if (kRules.allowed[static_cast<std::size_t>(token)] == 0 || (input.ignore_end && kRules.is_end(token)))
          continue;
        const double penalty = std::ranges::count(text, token) > 0 ? input.repetition_penalty : 1;
        next.push_back({token, penalty * row[static_cast<std::size_t>(token)]});
      }
      const std::int64_t token = sample_token(next, input.sampling, random).token;
      if (kRules.is_end(token)) {
        reason = FinishReason::kEnd;
      } else {
        tokens.push_back(token);
        text.push_back(token);
      }
    }
    continuations.reasons.push_back(reason);
  }
  return continuations;
}

std::vector<GenerationInput> different_inputs() {
  return {{.prompt = {2}, .samples = 3, .max_tokens = 9, .seed = 7},
          {.prompt = {2, 4, 5, 6}, .max_tokens = 12, .sampling = {.temperature = 0}},
          {.prompt = {2, 7}, .samples = 2, .max_tokens = 6, .sampling = {.temperature = 0.5, .top_k = 3}},
          {.prompt = {5}, .samples = 4, .max_tokens = 7, .sampling = {.top_k = 99, .top_p = 0.6}, .ignore_end = true},
          {.prompt = {2, 5, 5}, .max_tokens = 8, .sampling = {.temperature = 0}, .repetition_penalty = 3},
          {.prompt = {2, 5, 5}, .samples = 2, .max_tokens = 8, .sampling = {.min_p = 0.3}, .repetition_penalty = 1.5},
          {.prompt = {2, 9}, .max_tokens = 5, .sampling = {.temperature = 0}, .ignore_end = true},
          {.prompt = {2, 4}, .max_tokens = 1}};
}

TEST(Generation, ContinuesEachTextAsTokenByTokenInAnyBatch) {
  const Table table = biased_table(kVocabulary, 4, 3.0, kEnd, 0.5);
  const std::vector<GenerationInput> inputs = different_inputs();
  for (const std::int64_t capacity : {1, 2, 5, 32}) {
    TextScorer scorer(kVocabulary, table);
    const std::vector<Continuations> found = run(scorer, inputs, capacity);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(found[i], definition(table, inputs[i])) << "text " << i << " with a capacity of " << capacity;
      TextScorer alone(kVocabulary, table);
      EXPECT_EQ(run(alone, {inputs[i]}).front(), found[i]);
    }
    EXPECT_LE(scorer.most_nodes, std::max<std::int64_t>(capacity, 4));
  }
}

TEST(Generation, GoesOnWithTheLastTokensWhereTheContextEnds) {
  const Table table = biased_table(kVocabulary, 4, 2.0, kEnd, -1.0);
  for (const std::int64_t context : {1, 2, 3, 4, 7, 8, 40}) {
    std::vector<GenerationInput> inputs = different_inputs();
    inputs.push_back({.prompt = {2, 4, 5, 6, 7, 8, 9, 10, 11, 4, 5, 6, 7, 8, 9, 10, 11}, .samples = 3});
    for (GenerationInput& input : inputs) {
      input.context = context;
      input.max_tokens += 20;
    }
    inputs.front().context = 5;
    for (const std::int64_t capacity : {1, 5, 32}) {
      TextScorer scorer(kVocabulary, table);
      const std::vector<Continuations> found = run(scorer, inputs, capacity);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        EXPECT_EQ(found[i], definition(table, inputs[i])) << "text " << i << ", context " << context;
      }
      EXPECT_LE(scorer.most_nodes, std::max<std::int64_t>(capacity, 4));
      EXPECT_LE(scorer.most_tokens, std::max<std::int64_t>(context, 5));
    }
  }
}

TEST(Generation, ContinuesALongPromptAsTheTextThatItWrote) {
  const Table table = random_table(kVocabulary, 4);
  TextScorer scorer(kVocabulary, table);
  const GenerationInput input = {
      .prompt = {2}, .max_tokens = 60, .context = 7, .sampling = {.temperature = 0}, .ignore_end = true};
  const Tokens whole = run(scorer, {input}).front().tokens.front();
  for (std::int64_t begin = 1; begin < 60; ++begin) {
    GenerationInput rest = input;
    rest.prompt.insert(rest.prompt.end(), whole.begin(), whole.begin() + begin);
    rest.max_tokens = 60 - begin;
    EXPECT_EQ(run(scorer, {rest}).front().tokens.front(), Tokens(whole.begin() + begin, whole.end()));
  }
}

TEST(Generation, ComputesAPromptOnceForAllSamples) {
  TextScorer scorer(kVocabulary, random_table(kVocabulary, 4));
  run(scorer, {{.prompt = {2, 4, 5, 6, 7}, .samples = 6, .max_tokens = 3}});
  EXPECT_EQ(scorer.num_beginning_tokens, 4);
  EXPECT_EQ(scorer.most_nodes, 6);
}

TEST(Generation, KeepsTheFirstSamplesIfThereAreMoreOfThem) {
  TextScorer scorer(kVocabulary, random_table(kVocabulary, 4));
  const GenerationInput input = {.prompt = {2, 4}, .samples = 2, .max_tokens = 20};
  GenerationInput more = input;
  more.samples = 5;
  Continuations five = run(scorer, {more}).front();
  five.tokens.resize(2);
  five.reasons.resize(2);
  EXPECT_EQ(run(scorer, {input}).front(), five);
}

TEST(Generation, EndsASampleThatTheCallerStopsAndGoesOnWithTheOthers) {
  TextScorer scorer(kVocabulary, random_table(kVocabulary, 4));
  const std::vector<GenerationInput> inputs = {{.prompt = {2, 4}, .samples = 8, .max_tokens = 30, .ignore_end = true}};
  const Continuations all = run(scorer, inputs).front();
  const Continuations stopped = run(scorer, inputs, 32, /*stop=*/5).front();
  for (std::size_t i = 0; i < 8; ++i) {
    Tokens expected = all.tokens[i];
    const auto stop = std::ranges::find(expected, 5);
    EXPECT_EQ(stopped.reasons[i], stop == expected.end() ? FinishReason::kLength : FinishReason::kStop);
    if (stop != expected.end()) expected.erase(stop + 1, expected.end());
    EXPECT_EQ(stopped.tokens[i], expected);
  }
  EXPECT_GT(std::ranges::count(stopped.reasons, FinishReason::kStop), 0);
}

TEST(Generation, RefusesInputsThatDoNotFit) {
  TextScorer scorer(kVocabulary, random_table(kVocabulary, 4));
  const auto error = [&](const GenerationInput& input) { return error_of([&] { run(scorer, {input}); }); };
  EXPECT_EQ(error({}), "generate: a prompt is empty, needs at least one token");
  EXPECT_EQ(error({.prompt = {2, 12}}), "generate: a prompt has token 12, needs a number in [0, 12)");
  EXPECT_EQ(error({.prompt = {2}, .samples = 0}), "generate: samples is 0, needs at least 1");
  EXPECT_EQ(error({.prompt = {2}, .max_tokens = 0}), "generate: max_tokens is 0, needs at least 1");
  EXPECT_EQ(error({.prompt = {2}, .context = -1}), "generate: context is -1, needs at least 0");
  EXPECT_EQ(error({.prompt = {2}, .repetition_penalty = std::nan("")}),
            "generate: repetition_penalty is nan, needs at least 1");
  TextQueue queue({}, -1);
  EXPECT_EQ(error_of([&] { generate(scorer, queue, {.allowed = {1}, .end_tokens = {3}}); }),
            "generate: rules.allowed has 1 tokens, needs the 12 of the model");
  EXPECT_EQ(error_of([&] {
              generate(scorer, queue, {.allowed = kRules.allowed, .end_tokens = {kEnd, 12}});
            }),
            "generate: rules.end_tokens holds 12, needs numbers in [0, 12)");
  EXPECT_EQ(error_of([&] { generate(scorer, queue, {.allowed = kRules.allowed}); }),
            "generate: rules.end_tokens is empty, needs at least one token");
  EXPECT_EQ(error_of([&] { generate(scorer, queue, kRules, 0); }), "generate: capacity is 0, needs at least 1");
}

TEST(Generation, RefusesNumbersThatAreNoLogProbabilities) {
  for (const float number : {std::numeric_limits<float>::quiet_NaN(), 1.0f}) {
    TextScorer scorer(kVocabulary,
                      [=](const Tokens&, const Tokens&) { return std::vector<float>(kVocabulary, number); });
    EXPECT_EQ(error_of([&] { run(scorer, {{.prompt = {2}}}); }),
              fmt::format("generate: the model gives {} for token 2, needs a log-probability", number));
  }
}

}  // namespace
}  // namespace edgewise
