// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/ensemble_scorer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/search/table_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

std::unique_ptr<Scorer> table_member(std::int64_t vocabulary, std::uint64_t seed) {
  return std::make_unique<TableScorer>(vocabulary, random_table(vocabulary, seed), random_attention(seed));
}

std::unique_ptr<Scorer> ensemble_of(std::vector<std::uint64_t> seeds) {
  std::vector<std::unique_ptr<Scorer>> members;
  for (const std::uint64_t seed : seeds) members.push_back(table_member(6, seed));
  return std::make_unique<EnsembleScorer>(std::move(members));
}

TEST(EnsembleScorer, AveragesProbabilitiesAndAttention) {
  const auto ensemble = ensemble_of({1, 2, 3});
  const Tokens input = {4, 5};
  ensemble->encode(std::vector<std::int64_t>{0}, std::vector<Tokens>{input});
  const std::vector<NewNode> nodes = {{0, HypothesisTree::kRoot, 2}, {0, 0, 5}};
  const std::vector<Continuation> wanted = {{1, 3}};
  StepResult result;
  ensemble->step({.nodes = nodes, .num_candidates = 2, .wanted = wanted, .all = true, .attention = true}, result);

  for (const std::size_t row : {0, 1}) {
    const Tokens produced = row == 0 ? Tokens{} : Tokens{5};
    for (std::size_t token = 0; token < 6; ++token) {
      double mean = 0;
      for (const std::uint64_t seed : {1, 2, 3}) mean += std::exp(random_table(6, seed)(input, produced)[token]) / 3;
      EXPECT_NEAR(result.log_probabilities[row * 6 + token], std::log(mean), 1e-6);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      double mean = 0;
      for (const std::uint64_t seed : {1, 2, 3}) mean += random_attention(seed)(input, produced)[i] / 3;
      EXPECT_NEAR(result.attention[row * 2 + i], mean, 1e-6);
    }
  }
  EXPECT_EQ(result.wanted.at(0), result.log_probabilities[6 + 3]);
  EXPECT_EQ(result.candidates.size(), 4u);
}

TEST(EnsembleScorer, EqualsItsOnlyMember) {
  SearchOptions options;
  options.beam = options.n_best = 3;
  const std::vector<Tokens> inputs = {{4, 5}, {5}};
  const auto ensemble = ensemble_of({7});
  const auto alone = table_member(6, 7);

  const auto together = search(*ensemble, inputs, options);
  const auto expected = search(*alone, inputs, options);

  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(together[i][j].tokens, expected[i][j].tokens);
      EXPECT_NEAR(together[i][j].score, expected[i][j].score, 1e-6);
    }
  }
}

TEST(EnsembleScorer, KeepsTokensImpossibleThatAreImpossibleForAllMembers) {
  const Table none = [](const Tokens&, const Tokens&) { return std::vector<float>(4, -INFINITY); };
  std::vector<std::unique_ptr<Scorer>> members;
  for (int i = 0; i < 2; ++i) members.push_back(std::make_unique<TableScorer>(4, none));
  EnsembleScorer ensemble(std::move(members));

  EXPECT_EQ(search(ensemble, std::vector<Tokens>{{1}}).at(0).at(0).score, -INFINITY);
}

TEST(EnsembleScorer, ErrorsNameMembersThatDoNotFit) {
  EXPECT_EQ(error_of([] { EnsembleScorer({}); }), "EnsembleScorer: members is empty, needs at least one");
  EXPECT_EQ(error_of([] {
              std::vector<std::unique_ptr<Scorer>> members;
              members.push_back(table_member(6, 1));
              members.push_back(table_member(5, 1));
              EnsembleScorer ensemble(std::move(members));
            }),
            "EnsembleScorer: the vocabulary of member 1 has 5 tokens, needs the 6 of member 0");
}

}  // namespace
}  // namespace edgewise
