// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "tests/search/search_cases.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 9;

RC_GTEST_PROP(Scoring, EqualsTheScoresOfTheSearch, ()) {
  SearchOptions options;
  options.beam = options.n_best = 4;
  options.never = {0, 1};
  options.length_norm =
      *rc::gen::element(LengthNorm::kGnmt, LengthNorm::kPower, LengthNorm::kAverage, LengthNorm::kNone);
  options.coverage_penalty = *rc::gen::element(0.0, 0.4);
  options.attention = true;
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  TableScorer scorer(kVocabulary, random_table(kVocabulary, seed), random_attention(seed));
  const Tokens input = {4, 5};

  const auto found = search(scorer, std::vector<Tokens>{input}, options).at(0);
  options.kind = SearchKind::kScoring;
  std::vector<SearchInput> outputs;
  for (const Hypothesis& hypothesis : found) outputs.push_back({.tokens = input, .prefix = hypothesis.tokens});
  scorer.new_nodes.clear();
  const auto scored = search(scorer, outputs, options);

  RC_ASSERT(scorer.new_nodes.size() == 1u);  // all tokens of all outputs in one step
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_ASSERT(scored[i].size() == 1u);
    RC_ASSERT(scored[i][0].tokens == found[i].tokens);
    RC_ASSERT(scored[i][0].score == found[i].score);
    RC_ASSERT(scored[i][0].log_probability == found[i].log_probability);
    RC_ASSERT(scored[i][0].attention == found[i].attention);
  }
}

RC_GTEST_PROP(Scoring, EqualsItsDefinitionForAnyOutputAndOptions, ()) {
  SearchCase given = arbitrary_search_case(kVocabulary);
  given.options.kind = SearchKind::kScoring;
  const Tokens& tokens = given.input.prefix;

  const std::vector<Hypothesis> found = given.search(given.options);

  const std::vector<float> last = given.table(given.input.tokens, tokens);
  const double log_probability =
      prefix_log_probability(given) + last[static_cast<std::size_t>(given.options.end_token)];
  RC_ASSERT(found.size() == 1u);
  RC_ASSERT(found[0].tokens == tokens);
  RC_ASSERT(found[0].log_probability == log_probability);
  const double score = score_of(given, tokens, log_probability);
  RC_ASSERT(found[0].score == score || std::abs(found[0].score - score) < 1e-9);
  RC_ASSERT(found[0].attention.empty() != given.options.attention);
}

TEST(Scoring, RanksOutputsThatLeaveAnInputTokenWithoutAttention) {
  AttentionTable no_attention = [](const Tokens& input, const Tokens& /*produced*/) {
    return std::vector<float>(input.size(), 0.0f);
  };
  SearchOptions options;
  options.beam = options.n_best = 3;
  options.coverage_penalty = 0.4;
  options.max_length = 2;
  TableScorer scorer(kVocabulary, random_table(kVocabulary, 3), no_attention);

  const auto found = search(scorer, std::vector<Tokens>{{4, 5}}, options).at(0);

  ASSERT_EQ(found.size(), 3u);
  for (const Hypothesis& hypothesis : found) EXPECT_TRUE(std::isfinite(hypothesis.score));
  EXPECT_GT(found[0].score, found[1].score);
  EXPECT_GT(found[1].score, found[2].score);
}

TEST(Scoring, ScoresOutputsThatASearchNeverProduces) {
  TableScorer scorer(kVocabulary, random_table(kVocabulary, 3));
  SearchOptions options;
  options.kind = SearchKind::kScoring;
  options.length_norm = LengthNorm::kNone;
  options.never = {1, 2};
  options.max_length = 1;

  const Hypothesis scored =
      search(scorer, std::vector<SearchInput>{{.tokens = {5}, .prefix = {1, 2}}}, options).at(0).at(0);

  const Table table = random_table(kVocabulary, 3);
  EXPECT_EQ(scored.score, 0.0 + table({5}, {})[1] + table({5}, {1})[2] + table({5}, {1, 2})[3]);
}

}  // namespace
}  // namespace edgewise
