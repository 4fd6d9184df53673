// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "tests/search/table_scorer.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 9;

std::vector<Hypothesis> results_of(std::uint64_t seed, const SearchInput& input, const SearchOptions& options) {
  TableScorer scorer(kVocabulary, random_table(kVocabulary, seed), random_attention(seed));
  return search(scorer, std::vector<SearchInput>{input}, options).at(0);
}

SearchOptions arbitrary_options() {
  SearchOptions options;
  options.kind = *rc::gen::element(SearchKind::kBeam, SearchKind::kSampling, SearchKind::kScoring);
  options.rules = *rc::gen::element(BeamRules::kEdgewise, BeamRules::kHuggingFace);
  options.max_length = 9;
  options.length_norm = LengthNorm::kNone;
  options.length_penalty = 0;
  options.beam = options.n_best = 3;
  options.never = {0, 1, 2};
  return options;
}

RC_GTEST_PROP(ForcedTokens, BeginEachOutputEvenIfTheOptionsForbidThem, ()) {
  const SearchOptions options = arbitrary_options();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const SearchInput input = {.tokens = {4, 5}, .forced = {2, 7}, .prefix = {6}};

  const std::vector<Hypothesis> found = results_of(seed, input, options);

  RC_ASSERT(!found.empty());
  for (const Hypothesis& hypothesis : found) {
    RC_ASSERT(hypothesis.tokens.size() >= 3u);
    RC_ASSERT(Tokens(hypothesis.tokens.begin(), hypothesis.tokens.begin() + 3) == (Tokens{2, 7, 6}));
  }
}

RC_GTEST_PROP(ForcedTokens, DifferFromAPrefixInTheirLogProbabilityAlone, ()) {
  SearchOptions options = arbitrary_options();
  options.rules = BeamRules::kEdgewise;
  options.attention = true;
  options.no_repeat_ngram = *rc::gen::inRange<std::int64_t>(0, 3);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Table table = random_table(kVocabulary, seed);
  const Tokens input = {4, 5};
  const double of_first = table(input, {})[7];

  const auto forced = results_of(seed, {.tokens = input, .forced = {7}, .prefix = {6}}, options);
  const auto prefixed = results_of(seed, {.tokens = input, .prefix = {7, 6}}, options);

  RC_ASSERT(forced.size() == prefixed.size());
  for (std::size_t i = 0; i < forced.size(); ++i) {
    RC_ASSERT(forced[i].tokens == prefixed[i].tokens);
    RC_ASSERT(std::abs(forced[i].log_probability + of_first - prefixed[i].log_probability) < 1e-9);
    RC_ASSERT(std::abs(forced[i].score + of_first - prefixed[i].score) < 1e-9);
    RC_ASSERT(forced[i].attention == prefixed[i].attention);
  }
}

TEST(ForcedTokens, AreScoredInTheStepOfTheBeginToken) {
  TableScorer scorer(kVocabulary, random_table(kVocabulary, 1));
  search(scorer, std::vector<SearchInput>{{.tokens = {4}, .forced = {7}}}, {.max_length = 3});
  EXPECT_EQ(scorer.new_nodes.front(), 2);
}

TEST(ForcedTokens, CountInTheLengthOfTheScore) {
  const Table table = random_table(kVocabulary, 2);
  SearchOptions options = {.kind = SearchKind::kScoring, .length_norm = LengthNorm::kAverage};
  const Hypothesis found = results_of(2, {.tokens = {4}, .forced = {7}, .prefix = {6}}, options).at(0);
  EXPECT_DOUBLE_EQ(found.log_probability, 0.0 + table({4}, {7})[6] + table({4}, {7, 6})[3]);
  EXPECT_DOUBLE_EQ(found.score, found.log_probability / 3);
}

TEST(Prefix, OfATokenThatTheScorerRulesOutCountsInScoringAlone) {
  const Table table = random_table(kVocabulary, /*seed=*/4);
  const Table without_seven = [table](const Tokens& input, const Tokens& output) {
    std::vector<float> log_probabilities = table(input, output);
    if (output.empty()) log_probabilities[7] = -std::numeric_limits<float>::infinity();
    return log_probabilities;
  };
  const auto results = [&](const SearchInput& input, const SearchOptions& options) {
    TableScorer scorer(kVocabulary, without_seven, random_attention(/*seed=*/4));
    return search(scorer, std::vector<SearchInput>{input}, options).at(0);
  };
  SearchOptions options;
  options.beam = options.n_best = 3;
  const std::vector<Hypothesis> prefixed = results({.tokens = {4, 5}, .prefix = {7}}, options);
  const std::vector<Hypothesis> forced = results({.tokens = {4, 5}, .forced = {7}}, options);
  ASSERT_EQ(prefixed.size(), forced.size());
  for (std::size_t i = 0; i < forced.size(); ++i) {
    EXPECT_EQ(prefixed[i].tokens, forced[i].tokens);
    EXPECT_EQ(prefixed[i].log_probability, forced[i].log_probability);
  }
  options = {};
  options.kind = SearchKind::kScoring;
  EXPECT_TRUE(std::isinf(results({.tokens = {4, 5}, .prefix = {7}}, options).at(0).log_probability));
}

}  // namespace
}  // namespace edgewise
