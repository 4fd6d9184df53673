// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "edgewise/search/hypothesis.h"
#include "tests/search/table_scorer.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 12;

const std::vector<NextToken> kNextTokens = {
    {5, std::log(0.1)}, {6, std::log(0.4)}, {7, std::log(0.2)}, {8, std::log(0.3)}, {9, -INFINITY}};

std::map<std::int64_t, double> shares(const SamplingOptions& options) {
  constexpr int kDraws = 20'000;
  RandomStream random(3);
  std::map<std::int64_t, double> found;
  for (int i = 0; i < kDraws; ++i) found[sample_token(kNextTokens, options, random).token] += 1.0 / kDraws;
  return found;
}

void expect_shares(const SamplingOptions& options, const std::map<std::int64_t, double>& expected) {
  const auto found = shares(options);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [token, share] : expected)
    EXPECT_NEAR(found.at(token), share, 0.02) << token;  // five standard deviations
}

TEST(SampleToken, FollowsTheProbabilities) { expect_shares({}, {{5, 0.1}, {6, 0.4}, {7, 0.2}, {8, 0.3}}); }

TEST(SampleToken, TemperatureFlattensOrSharpensTheDistribution) {
  const double squares = 0.01 + 0.16 + 0.04 + 0.09;
  expect_shares({.temperature = 0.5},
                {{5, 0.01 / squares}, {6, 0.16 / squares}, {7, 0.04 / squares}, {8, 0.09 / squares}});
  expect_shares({.temperature = 1e-4}, {{6, 1.0}});
}

TEST(SampleToken, TopKKeepsTheMostLikelyTokens) {
  expect_shares({.top_k = 2}, {{6, 4.0 / 7}, {8, 3.0 / 7}});
  expect_shares({.top_k = 99}, {{5, 0.1}, {6, 0.4}, {7, 0.2}, {8, 0.3}});
}

TEST(SampleToken, TopPKeepsTheFewestTokensWithThatProbability) {
  expect_shares({.top_p = 0.3}, {{6, 1.0}});
  expect_shares({.top_p = 0.69}, {{6, 4.0 / 7}, {8, 3.0 / 7}});
  expect_shares({.top_p = 0.75}, {{6, 4.0 / 9}, {8, 3.0 / 9}, {7, 2.0 / 9}});
  expect_shares({.top_k = 2, .top_p = 0.5}, {{6, 1.0}});
}

TEST(SampleToken, MinPKeepsTheTokensThatAreNotMuchLessLikelyThanTheLikeliest) {
  expect_shares({.min_p = 0.2}, {{5, 0.1}, {6, 0.4}, {7, 0.2}, {8, 0.3}});
  expect_shares({.min_p = 0.4}, {{6, 4.0 / 9}, {8, 3.0 / 9}, {7, 2.0 / 9}});
  expect_shares({.min_p = 1}, {{6, 1.0}});
  expect_shares({.top_k = 2, .min_p = 0.4}, {{6, 4.0 / 7}, {8, 3.0 / 7}});
  const double squares = 0.16 + 0.09;
  expect_shares({.temperature = 0.5, .min_p = 0.4}, {{6, 0.16 / squares}, {8, 0.09 / squares}});
}

TEST(SampleToken, ATemperatureOf0GivesTheLikeliestTokenAndDrawsNothing) {
  RandomStream random(1);
  EXPECT_EQ(sample_token(kNextTokens, {.temperature = 0}, random).token, 6);
  EXPECT_EQ(sample_token({{7, -1.0}, {5, -1.0}, {4, -2.0}}, {.temperature = 0, .top_k = 1}, random).token, 5);
  EXPECT_EQ(random.next_u32(), RandomStream(1).next_u32());
}

TEST(SampleToken, TopKKeepsTheLowerTokenAmongEquals) {
  RandomStream random(1);
  EXPECT_EQ(sample_token({{7, -1.0}, {5, -1.0}}, {.top_k = 1}, random).token, 5);
}

TEST(SampleToken, DrawsImpossibleTokensOnlyIfThereAreNoOthers) {
  RandomStream random(1);
  EXPECT_EQ(sample_token({{7, -INFINITY}}, {}, random).token, 7);
}

SearchOptions sampling() {
  SearchOptions options;
  options.kind = SearchKind::kSampling;
  options.never = {0, 1};
  return options;
}

std::vector<std::vector<Hypothesis>> sample(const std::vector<Tokens>& inputs, const SearchOptions& options,
                                            std::int64_t sentences = 32) {
  TableScorer scorer(kVocabulary, random_table(kVocabulary, 5), random_attention(5));
  return search(scorer, inputs, options, {.sentences = sentences});
}

TEST(Sampling, DependsOnSeedAndInputNumberOnly) {
  const std::vector<Tokens> inputs = {{4, 5}, {6}, {4, 5}, {7, 8, 9}};
  SearchOptions options = sampling();
  options.n_best = 3;

  const auto together = sample(inputs, options);
  const auto one_by_one = sample(inputs, options, 1);
  options.seed = 2;
  const auto other_seed = sample(inputs, options);

  std::set<Tokens> of_equal_inputs;
  bool seed_matters = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(together[i][j].tokens, one_by_one[i][j].tokens);
      EXPECT_EQ(together[i][j].score, one_by_one[i][j].score);
      seed_matters = seed_matters || together[i][j].tokens != other_seed[i][j].tokens;
      if (i == 0 || i == 2) of_equal_inputs.insert(together[i][j].tokens);
    }
  }
  EXPECT_TRUE(seed_matters);
  EXPECT_GT(of_equal_inputs.size(), 3u);
}

TEST(Sampling, TopKOfOneEqualsGreedySearch) {
  SearchOptions options = sampling();
  options.top_k = 1;
  SearchOptions greedy = options;
  greedy.kind = SearchKind::kBeam;

  EXPECT_EQ(sample({{4, 5}}, options)[0][0].tokens, sample({{4, 5}}, greedy)[0][0].tokens);
  EXPECT_EQ(sample({{4, 5}}, options)[0][0].score, sample({{4, 5}}, greedy)[0][0].score);
}

TEST(Sampling, RespectsTheRestrictions) {
  SearchOptions options = sampling();
  options.n_best = 50;
  options.only = {4, 5, 6};
  options.no_repeat_ngram = 2;
  options.min_length = 2;
  options.max_length = 6;
  for (const std::int64_t top_k : {0, 3}) {
    options.top_k = top_k;
    const std::vector<std::vector<Hypothesis>> samples = sample({{7, 8}}, options);
    for (const Hypothesis& found : samples[0]) {
      EXPECT_GE(found.tokens.size(), 2u);
      EXPECT_LE(found.tokens.size(), 6u);
      std::set<std::pair<std::int64_t, std::int64_t>> pairs;
      for (std::size_t i = 0; i < found.tokens.size(); ++i) {
        EXPECT_TRUE(found.tokens[i] >= 4 && found.tokens[i] <= 6);
        EXPECT_TRUE(i == 0 || pairs.emplace(found.tokens[i - 1], found.tokens[i]).second);
      }
    }
  }
}

}  // namespace
}  // namespace edgewise
