// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "edgewise/search/restrictions.h"
#include "edgewise/search/search.h"
#include "tests/search/table_scorer.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kVocabulary = 12;
constexpr std::int64_t kEnd = 3;

Tokens repeat(const Tokens& phrase, std::int64_t count) {
  Tokens tokens;
  for (std::int64_t i = 0; i < count; ++i) tokens.insert(tokens.end(), phrase.begin(), phrase.end());
  return tokens;
}

bool is_loop(const Tokens& output, const Tokens& input) { return ends_with_loop(output, copy_limits(input)); }

TEST(Loops, AreSixMoreCopiesOfATokenThanTheInputHasOfAny) {
  EXPECT_FALSE(is_loop(repeat({5}, 6), {7, 8}));
  EXPECT_TRUE(is_loop(repeat({5}, 7), {7, 8}));
  EXPECT_FALSE(is_loop(repeat({5}, 8), {7, 8, 7, 9, 7}));
  EXPECT_TRUE(is_loop(repeat({5}, 9), {7, 8, 7, 9, 7}));
}

TEST(Loops, AreThreeMoreCopiesOfAPhraseThanTheInputHasOfAnyToken) {
  for (std::int64_t size = 2; size <= kLongestPhrase; ++size) {
    Tokens phrase;
    for (std::int64_t token = 0; token < size; ++token) phrase.push_back(token);
    EXPECT_FALSE(is_loop(repeat(phrase, 3), {7, 8})) << size;
    EXPECT_TRUE(is_loop(repeat(phrase, 4), {7, 8})) << size;
  }
}

TEST(Loops, AreFoundAtTheEndOnly) {
  Tokens output = repeat({5, 6}, 5);
  EXPECT_TRUE(is_loop(output, {7}));
  output.push_back(9);
  EXPECT_FALSE(is_loop(output, {7}));
  EXPECT_FALSE(is_loop({}, {7}));
  EXPECT_FALSE(is_loop({5}, {}));
}

TEST(TokensThatCopy, ContinueAPhraseThatEndsTheOutput) {
  EXPECT_THAT(tokens_that_copy({}, 1), IsEmpty());
  EXPECT_THAT(tokens_that_copy(Tokens{5}, 1), ElementsAre(5));
  EXPECT_THAT(tokens_that_copy(Tokens{5, 6, 5}, 1), ElementsAre(5, 6));
  EXPECT_THAT(tokens_that_copy(Tokens{5, 6, 5}, 2), IsEmpty());
  EXPECT_THAT(tokens_that_copy(Tokens{5, 5}, 2), ElementsAre(5));
  EXPECT_THAT(copy_limits(Tokens{7, 8, 8, 8, 7}).copying, 3);
  EXPECT_THAT(copy_limits(Tokens{7, 8, 7, 8, 9}).copying, 2);
}

/// Returns log-probabilities of which a few are given; the other tokens share what is left.
std::vector<float> distribution(const std::map<std::int64_t, double>& probabilities) {
  double rest = 1;
  for (const auto& [token, probability] : probabilities) rest -= probability;
  const double other = rest / static_cast<double>(kVocabulary - std::ssize(probabilities));
  std::vector<float> logs(kVocabulary, static_cast<float>(std::log(other)));
  for (const auto& [token, probability] : probabilities) logs[token] = static_cast<float>(std::log(probability));
  return logs;
}

/// A model that translates each token t of its input by t, and after the first token 5 repeats it for ever.
std::vector<float> looping_table(const Tokens& input, const Tokens& produced) {
  if (!produced.empty() && produced.back() == 5) return distribution({{5, 0.9}, {kEnd, 0.05}});
  const std::size_t next = produced.size();
  return distribution({{next < input.size() ? input[next] : kEnd, 0.95}});
}

SearchOptions options_of(std::int64_t beam) {
  SearchOptions options;
  options.beam = beam;
  options.never = {0, 1, 2};
  return options;
}

std::vector<std::vector<Hypothesis>> search_all(const std::vector<Tokens>& inputs, const SearchOptions& options,
                                                std::int64_t slots = 4) {
  TableScorer scorer(kVocabulary, looping_table);
  return search(scorer, inputs, options, {.sentences = slots});
}

TEST(StopLoops, AnOutputThatRepeatsATokenIsSearchedAgainWithoutRepetition) {
  for (const std::int64_t beam : {1, 2, 5}) {
    SearchOptions options = options_of(beam);
    EXPECT_EQ(search_all({{5}}, options)[0][0].tokens, Tokens{5}) << beam;
    options.stop_loops = false;
    EXPECT_EQ(search_all({{5}}, options)[0][0].tokens, repeat({5}, 12)) << beam;
  }
}

TEST(StopLoops, OtherOutputsKeepTheirBits) {
  const std::vector<Tokens> inputs = {{7, 8, 9}, {7, 7, 7}, {4}, {8, 9, 8, 9, 8, 9}};
  for (const std::int64_t beam : {1, 3}) {
    SearchOptions options = options_of(beam);
    options.n_best = beam;
    const auto found = search_all(inputs, options);
    options.stop_loops = false;
    const auto plain = search_all(inputs, options);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(found[i].size(), plain[i].size());
      for (std::size_t j = 0; j < found[i].size(); ++j) {
        EXPECT_EQ(found[i][j].tokens, plain[i][j].tokens);
        EXPECT_EQ(found[i][j].score, plain[i][j].score);
      }
    }
  }
}

TEST(StopLoops, TheResultDoesNotDependOnTheBatch) {
  const std::vector<Tokens> inputs = {{5}, {7, 5, 8}, {9, 8}, {5, 5, 5}, {4, 5}, {7}};
  SearchOptions options = options_of(3);
  const auto together = search_all(inputs, options, 6);
  const auto few_slots = search_all(inputs, options, 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto alone = search_all({inputs[i]}, options, 1);
    EXPECT_EQ(together[i][0].tokens, alone[0][0].tokens) << i;
    EXPECT_EQ(together[i][0].score, alone[0][0].score) << i;
    EXPECT_EQ(few_slots[i][0].tokens, alone[0][0].tokens) << i;
    EXPECT_EQ(few_slots[i][0].score, alone[0][0].score) << i;
  }
}

TEST(StopLoops, ARepetitionOfTheInputMayBeInTheOutput) {
  const std::vector<Tokens> found = {search_all({{5, 5, 5, 8}}, options_of(1))[0][0].tokens};
  EXPECT_EQ(found[0], (Tokens{5, 5, 5}));
}

TEST(StopLoops, TheFirstSearchEndsWhenEachHypothesisContainsALoop) {
  SearchOptions options = options_of(1);
  options.length_offset = 1000;
  TableScorer scorer(kVocabulary, looping_table);
  search(scorer, std::vector<Tokens>{{5}}, options);
  EXPECT_EQ(scorer.num_encode_calls, 2);
  EXPECT_LT(scorer.new_nodes.size(), 12U);
}

TEST(StopLoops, AHypothesisWithALoopDoesNotMatterIfAnotherOneIsBest) {
  // Token 6 loops, but less likely than the output 5.
  const Table table = [](const Tokens&, const Tokens& produced) {
    if (produced.empty()) return distribution({{5, 0.6}, {6, 0.3}});
    return produced.back() == 6 ? distribution({{6, 0.99}}) : distribution({{kEnd, 0.98}});
  };
  SearchOptions options = options_of(2);
  options.length_norm = LengthNorm::kNone;
  TableScorer scorer(kVocabulary, table);
  EXPECT_EQ(search(scorer, std::vector<Tokens>{{7}}, options)[0][0].tokens, Tokens{5});
  EXPECT_EQ(scorer.num_encode_calls, 1);
}

TEST(StopLoops, ALoopInAPrefixIsTheCallersAndNoLoop) {
  TableScorer scorer(kVocabulary, looping_table);
  const std::vector<SearchInput> inputs = {{.tokens = {7}, .prefix = repeat({8}, 20)}};
  SearchOptions options = options_of(1);
  options.length_offset = 40;
  EXPECT_EQ(search(scorer, inputs, options)[0][0].tokens, repeat({8}, 20));
  EXPECT_EQ(scorer.num_encode_calls, 1);
}

TEST(StopLoops, AttentionAndPonderStepsAreThoseOfTheSecondSearch) {
  const AttentionTable attention = [](const Tokens& input, const Tokens&) {
    return std::vector<float>(input.size(), 1.0F / static_cast<float>(input.size()));
  };
  TableScorer scorer(kVocabulary, looping_table, attention);
  SearchOptions options = options_of(2);
  options.attention = true;
  const Hypothesis found = search(scorer, std::vector<Tokens>{{4, 5}}, options)[0][0];
  EXPECT_EQ(found.tokens, (Tokens{4, 5}));
  EXPECT_EQ(found.attention.size(), 6U);
  EXPECT_THAT(found.ponder_steps,
              ElementsAre(table_ponder_steps({}), table_ponder_steps({4}), table_ponder_steps({4, 5})));
}

TEST(StopLoops, SamplesAndTheRulesOfHuggingFaceAreNotChecked) {
  SearchOptions options = options_of(2);
  options.rules = BeamRules::kHuggingFace;
  options.max_length = 30;
  EXPECT_GT(search_all({{5}}, options)[0][0].tokens.size(), 10U);
  options = options_of(1);
  options.kind = SearchKind::kSampling;
  options.top_k = 1;
  EXPECT_EQ(search_all({{5}}, options)[0][0].tokens, repeat({5}, 12));
}

}  // namespace
}  // namespace edgewise
