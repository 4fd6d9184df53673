// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "edgewise/search/ensemble_scorer.h"
#include "tests/search/plain_generate.h"
#include "tests/search/table_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 12;

Tokens arbitrary_tokens(std::size_t most) {
  return *rc::gen::container<Tokens>(*rc::gen::inRange<std::size_t>(0, most + 1),
                                     rc::gen::inRange<std::int64_t>(2, kVocabulary));
}

struct GeneratedCase {
  SearchOptions options = {.rules = BeamRules::kHuggingFace};
  std::uint64_t seed = 0;
  bool has_equals = false;
  SearchInput input;

  Table table() const {
    if (has_equals) return table_with_equals(kVocabulary, seed);
    return biased_table(kVocabulary, seed, 3.0, options.end_token, 1.0);
  }
};

GeneratedCase arbitrary_case() {
  GeneratedCase found;
  found.input = {.tokens = {3, 5}, .forced = arbitrary_tokens(1), .prefix = arbitrary_tokens(2)};
  SearchOptions& options = found.options;
  options.end_token = 1;
  options.begin_token = *rc::gen::element<std::int64_t>(0, 1);
  options.beam = *rc::gen::inRange<std::int64_t>(1, 9);
  options.n_best = *rc::gen::inRange<std::int64_t>(1, options.beam + 1);
  options.length_penalty = *rc::gen::element(0.0, 0.6, 1.0, 2.0);
  options.stop_when = *rc::gen::element(StopWhen::kFull, StopWhen::kLikely, StopWhen::kCertain);
  options.max_length =
      std::ssize(found.input.forced) + std::ssize(found.input.prefix) + 2 + *rc::gen::inRange<std::int64_t>(0, 12);
  options.force_end = *rc::gen::arbitrary<bool>();
  options.min_length = *rc::gen::inRange<std::int64_t>(0, 8);
  options.no_repeat_ngram = *rc::gen::inRange<std::int64_t>(0, 4);
  options.repetition_penalty = options.beam == 1 ? 1.0 : *rc::gen::element(1.0, 1.0, 1.3, 2.0);
  options.never = *rc::gen::element(Tokens{}, Tokens{4, 7}, Tokens{0, 2, 9});
  if (options.begin_token == 1) std::erase(options.never, 1);
  options.renormalize = *rc::gen::arbitrary<bool>();
  found.seed = *rc::gen::arbitrary<std::uint64_t>();
  found.has_equals = !options.renormalize && *rc::gen::arbitrary<bool>();  // its values are not normalised
  return found;
}

void expect_same(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  RC_ASSERT(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_ASSERT(found[i].tokens == expected[i].tokens);
    RC_ASSERT(std::abs(found[i].score - expected[i].score) < 1e-5);
    RC_ASSERT(std::abs(found[i].log_probability - expected[i].log_probability) < 1e-4);
  }
}

RC_GTEST_PROP(HuggingFaceRules, EqualAPlainSearchOverAllTokens, ()) {
  const GeneratedCase given = arbitrary_case();
  TableScorer scorer(kVocabulary, given.table());

  const auto found = search(scorer, std::vector<SearchInput>{given.input}, given.options).at(0);

  const PlainOutputs expected = plain_generate(given.table(), given.input, given.options);
  RC_PRE(!given.options.renormalize || expected.smallest_gap > 1e-5);  // of sums that are rounded in different ways
  expect_same(found, expected.outputs);
}

RC_GTEST_PROP(HuggingFaceRules, GiveEachSentenceTheResultThatItHasAlone, ()) {
  const GeneratedCase given = arbitrary_case();
  std::vector<SearchInput> inputs;
  for (const Tokens& tokens : {Tokens{3}, Tokens{4, 5, 6}, Tokens{7, 3}, Tokens{2}}) {
    inputs.push_back({.tokens = tokens, .forced = arbitrary_tokens(1)});
  }
  TableScorer together(kVocabulary, given.table());

  const auto found = search(together, inputs, given.options, {.sentences = 3});

  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TableScorer alone(kVocabulary, given.table());
    const auto expected = search(alone, std::vector<SearchInput>{inputs[i]}, given.options).at(0);
    RC_ASSERT(found[i].size() == expected.size());
    for (std::size_t j = 0; j < expected.size(); ++j) {
      RC_ASSERT(found[i][j].tokens == expected[j].tokens);
      RC_ASSERT(found[i][j].score == expected[j].score);
    }
  }
}

/// Checks that no request needs work for each token of the vocabulary.
class FrugalScorer : public TableScorer {
 public:
  FrugalScorer(const Table& table, const SearchOptions& options) : TableScorer(kVocabulary, table), options_(options) {}

  void step(const StepRequest& request, StepResult& result) override {
    EXPECT_FALSE(request.all);
    EXPECT_LE(request.num_candidates, 2 * options_.beam);
    EXPECT_LE(std::ssize(request.wanted), std::ssize(request.nodes) * (std::ssize(options_.never) + 1));
    TableScorer::step(request, result);
  }

 private:
  SearchOptions options_;
};

TEST(HuggingFaceRules, RequestTheBestCandidatesAndTheForbiddenTokensAlone) {
  SearchOptions options = {.rules = BeamRules::kHuggingFace, .beam = 4, .max_length = 12, .renormalize = true};
  options.never = {0, 2};
  FrugalScorer scorer(random_table(kVocabulary, 1), options);
  search(scorer, std::vector<Tokens>{{3, 4}, {5}}, options);
  EXPECT_GT(scorer.new_nodes.size(), 3u);
}

/// Returns the outputs for the input {5} of a table with the probabilities `next` after any token, where those that are
/// missing are tiny.
std::vector<Hypothesis> outputs_of(const std::map<std::int64_t, double>& next, const SearchOptions& options,
                                   const SearchInput& input = {.tokens = {5}}) {
  TableScorer scorer(
      kVocabulary,
      [=](const Tokens&, const Tokens&) {
        std::vector<float> row(kVocabulary, -60.0f);
        for (const auto& [token, probability] : next) row[token] = static_cast<float>(std::log(probability));
        return row;
      },
      random_attention(1));
  return search(scorer, std::vector<SearchInput>{input}, options).at(0);
}

SearchOptions greedy_options(std::int64_t max_length) {
  return {.rules = BeamRules::kHuggingFace, .length_penalty = 1.0, .max_length = max_length};
}

TEST(HuggingFaceRules, CountTheBeginAndTheEndTokenInMaxLength) {
  const std::map<std::int64_t, double> endless = {{4, 0.75}, {3, 0.25}};
  SearchOptions options = greedy_options(5);
  const Hypothesis forced = outputs_of(endless, options).at(0);
  EXPECT_EQ(forced.tokens, (Tokens{4, 4, 4}));
  EXPECT_NEAR(forced.score, 3 * std::log(0.75) / 4, 1e-6);  // the end token has log-probability 0

  options.force_end = false;
  const Hypothesis open = outputs_of(endless, options).at(0);
  EXPECT_EQ(open.tokens, (Tokens{4, 4, 4, 4}));
  EXPECT_NEAR(open.score, std::log(0.75), 1e-6);
}

TEST(HuggingFaceRules, GiveOutputsWithoutAnEndTokenNoAttentionForIt) {
  SearchOptions options = greedy_options(3);
  options.force_end = false;
  options.attention = true;
  const Hypothesis open = outputs_of({{4, 0.75}}, options, {.tokens = {5, 6}}).at(0);
  ASSERT_EQ(open.tokens, (Tokens{4, 4}));
  ASSERT_EQ(open.attention.size(), 6u);
  EXPECT_GT(open.attention[2], 0.0f);
  EXPECT_EQ(open.attention[4], 0.0f);
  EXPECT_EQ(open.ponder_steps, (std::vector<std::int64_t>{table_ponder_steps({}), table_ponder_steps({4}), 0}));
}

TEST(HuggingFaceRules, LoseTheProbabilityOfForbiddenTokensUnlessTheyRenormalize) {
  SearchOptions options = greedy_options(3);
  options.never = {4};
  const std::map<std::int64_t, double> next = {{4, 0.6}, {6, 0.3}, {3, 0.1}};
  EXPECT_NEAR(outputs_of(next, options).at(0).log_probability, std::log(0.3), 1e-6);
  options.renormalize = true;
  EXPECT_NEAR(outputs_of(next, options).at(0).log_probability, std::log(0.75), 1e-6);
}

TEST(HuggingFaceRules, RenormalizeWhereForbiddenTokensHaveNearlyAllProbability) {
  SearchOptions options = greedy_options(3);
  options.beam = 2;
  options.renormalize = true;
  options.never = {4};
  const std::vector<Hypothesis> found = outputs_of({{4, 1.0}, {6, 3e-9}, {7, 1e-9}}, options);
  EXPECT_NEAR(found.at(0).log_probability, std::log(0.75), 1e-4);
}

TEST(HuggingFaceRules, NeverChooseTokensOfProbabilityZero) {
  const float impossible = -std::numeric_limits<float>::infinity();
  TableScorer scorer(kVocabulary, [=](const Tokens&, const Tokens&) {
    std::vector<float> row(kVocabulary, impossible);
    row[4] = row[3] = std::log(0.5f);
    return row;
  });
  SearchOptions options = greedy_options(4);
  options.beam = options.n_best = 4;
  const std::vector<Hypothesis> found = search(scorer, std::vector<Tokens>{{5}}, options).at(0);
  ASSERT_EQ(found.size(), 3u);  // the outputs of none, one and two words
  for (const Hypothesis& hypothesis : found) EXPECT_GT(hypothesis.score, impossible);
}

TEST(HuggingFaceRules, EndWithoutAnyTokenThatMayFollow) {
  SearchOptions options = greedy_options(30);
  options.no_repeat_ngram = 1;
  options.min_length = 30;
  options.never = {0, 2};
  options.beam = 2;
  const std::vector<Hypothesis> found = outputs_of({{4, 0.5}, {5, 0.5}}, options);
  ASSERT_EQ(found.size(), 1u);
  Tokens tokens = found[0].tokens;
  std::ranges::sort(tokens);
  EXPECT_EQ(tokens, (Tokens{1, 4, 5, 6, 7, 8, 9, 10, 11}));  // all but the begin, the end and the forbidden tokens
}

TEST(HuggingFaceRules, NameAModelWithoutProbabilities) {
  SearchOptions options = greedy_options(9);
  options.beam = 2;
  std::vector<std::unique_ptr<Scorer>> members;
  members.push_back(std::make_unique<TableScorer>(
      kVocabulary, [](const Tokens&, const Tokens&) { return std::vector<float>(kVocabulary, std::nanf("")); }));
  EnsembleScorer scorer(std::move(members));
  EXPECT_NE(error_of([&] { search(scorer, std::vector<Tokens>{{5}}, options); }), "no error");
}

}  // namespace
}  // namespace edgewise
