// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "edgewise/graph/relation_view.h"
#include "edgewise/search/rules.h"
#include "tests/search/table_scorer.h"

namespace edgewise {
namespace {

// Three words may follow; the other tokens are never produced, so that a beam as wide as the vocabulary holds
// every output of up to three words: 1 + 3 + 9 + 27.
constexpr std::int64_t kVocabulary = 40;
constexpr std::int64_t kBegin = 0;
constexpr std::int64_t kEnd = 1;
const std::vector<std::int64_t> kWords = {2, 3, 4};

SearchOptions three_words() {
  SearchOptions options;
  options.begin_token = kBegin;
  options.end_token = kEnd;
  options.never = {kBegin};
  for (std::int64_t token = kWords.back() + 1; token < kVocabulary; ++token) options.never.push_back(token);
  options.length_factor = 0.0;
  options.length_offset = 3;
  return options;
}

double score_of(double log_probability, std::size_t length_with_end, double length_penalty) {
  return log_probability / std::pow((5.0 + static_cast<double>(length_with_end)) / 6.0, length_penalty);
}

Hypothesis hypothesis(const Tokens& tokens, double log_probability, double length_penalty) {
  Hypothesis made;
  made.tokens = tokens;
  made.score = score_of(log_probability, tokens.size() + 1, length_penalty);
  return made;
}

/// Returns all outputs, best first, then in the order of their words.
std::vector<Hypothesis> all_outputs(const Table& table, const Tokens& input, const SearchOptions& options) {
  std::vector<Hypothesis> outputs;
  const auto visit = [&](const auto& self, const Tokens& produced, double log_probability) -> void {
    const std::vector<float> next = table(input, produced);
    outputs.push_back(hypothesis(produced, log_probability + next[kEnd], options.length_penalty));
    if (static_cast<std::int64_t>(produced.size()) == options.length_offset) return;
    for (const std::int64_t word : kWords) {
      Tokens longer = produced;
      longer.push_back(word);
      self(self, longer, log_probability + next[word]);
    }
  };
  visit(visit, {}, 0.0);
  std::stable_sort(outputs.begin(), outputs.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return outputs;
}

/// Beam search as search.h describes it, with full sorts and without early stopping.
std::vector<Hypothesis> plain_beam(const Table& table, const Tokens& input, const SearchOptions& options) {
  struct Path {
    Tokens tokens;
    double log_probability;
    bool is_finished;
  };
  std::vector<Path> active = {{{}, 0.0, false}};
  std::vector<Hypothesis> finished;
  while (!active.empty()) {
    std::vector<Path> longer;
    for (const Path& path : active) {
      const std::vector<float> next = table(input, path.tokens);
      const bool is_at_limit = static_cast<std::int64_t>(path.tokens.size()) == options.length_offset;
      longer.push_back({path.tokens, path.log_probability + next[kEnd], true});
      for (const std::int64_t word : kWords) {
        if (is_at_limit) break;
        longer.push_back({path.tokens, path.log_probability + next[word], false});
        longer.back().tokens.push_back(word);
      }
    }
    std::stable_sort(longer.begin(), longer.end(),
                     [](const Path& a, const Path& b) { return a.log_probability > b.log_probability; });
    longer.resize(std::min(longer.size(), static_cast<std::size_t>(options.beam) - finished.size()));
    active.clear();
    for (const Path& path : longer) {
      if (path.is_finished) {
        finished.push_back(hypothesis(path.tokens, path.log_probability, options.length_penalty));
      } else {
        active.push_back(path);
      }
    }
  }
  std::stable_sort(finished.begin(), finished.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return finished;
}

void expect_same(const Hypothesis& actual, const Hypothesis& expected) {
  EXPECT_EQ(actual.tokens, expected.tokens);
  EXPECT_EQ(actual.score, expected.score);
}

void expect_same(const std::vector<Hypothesis>& actual, const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) expect_same(actual[i], expected[i]);
}

Hypothesis search_one(Scorer& scorer, const Tokens& input, const SearchOptions& options) {
  return search(scorer, std::vector<Tokens>{input}, options).at(0).at(0);
}

std::vector<Hypothesis> search_n_best_of_one(Scorer& scorer, const Tokens& input, SearchOptions options) {
  options.n_best = options.beam;
  return search(scorer, std::vector<Tokens>{input}, options).at(0);
}

/// Calls the test with random tables, with and without equal values, at several length penalties.
void sweep(const std::function<void(const Table&, SearchOptions)>& body) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const double length_penalty : {0.0, 0.6, 2.0}) {
      for (const bool with_equals : {false, true}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", length penalty " + std::to_string(length_penalty) +
                     (with_equals ? ", with equals" : ""));
        SearchOptions options = three_words();
        options.length_penalty = length_penalty;
        body(with_equals ? table_with_equals(kVocabulary, seed) : random_table(kVocabulary, seed), options);
      }
    }
  }
}

TEST(Search, FindsTheBestOutputWithABeamOfFullWidth) {
  sweep([](const Table& table, SearchOptions options) {
    options.beam = kVocabulary;
    TableScorer scorer(kVocabulary, table);

    EXPECT_EQ(search_one(scorer, {7}, options).score, all_outputs(table, {7}, options).front().score);
  });
}

TEST(SearchNBest, ListsAllOutputsWithABeamOfFullWidth) {
  sweep([](const Table& table, SearchOptions options) {
    options.beam = kVocabulary;
    TableScorer scorer(kVocabulary, table);

    const auto actual = search_n_best_of_one(scorer, {7}, options);

    const auto expected = all_outputs(table, {7}, options);
    ASSERT_EQ(actual.size(), expected.size());
    std::set<Tokens> different;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].score, expected[i].score);
      different.insert(actual[i].tokens);
    }
    EXPECT_EQ(different.size(), expected.size());
  });
}

TEST(SearchNBest, EqualsAPlainBeamSearch) {
  sweep([](const Table& table, SearchOptions options) {
    TableScorer scorer(kVocabulary, table);
    for (options.beam = 1; options.beam < 8; ++options.beam) {
      expect_same(search_n_best_of_one(scorer, {7}, options), plain_beam(table, {7}, options));
    }
  });
}

TEST(Search, EarlyStoppingDoesNotChangeResults) {
  sweep([](const Table& table, SearchOptions options) {
    TableScorer scorer(kVocabulary, table);
    for (options.beam = 1; options.beam < 8; ++options.beam) {
      expect_same(search_one(scorer, {7}, options), plain_beam(table, {7}, options).front());
    }
  });
}

TEST(Search, TakesTheMostLikelyNextTokenWithABeamOfOne) {
  sweep([](const Table& table, const SearchOptions& options) {
    TableScorer scorer(kVocabulary, table);
    Tokens tokens;
    double log_probability = 0.0;
    while (true) {
      const std::vector<float> next = table({7}, tokens);
      std::int64_t best = kEnd;
      for (const std::int64_t word : kWords) {
        if (static_cast<std::int64_t>(tokens.size()) < options.length_offset && next[word] > next[best]) best = word;
      }
      log_probability += next[best];
      if (best == kEnd) break;
      tokens.push_back(best);
    }

    const Hypothesis greedy = search_one(scorer, {7}, options);

    expect_same(greedy, hypothesis(tokens, log_probability, options.length_penalty));
    expect_same(search_n_best_of_one(scorer, {7}, options), {greedy});
  });
}

/// Makes a table from a map. Paths outside the map end at once; tokens outside a row have log-probability -9.
Table written_table(const std::map<Tokens, std::map<std::int64_t, float>>& rows) {
  return [rows](const Tokens&, const Tokens& produced) {
    std::vector<float> row(kVocabulary, -9.0f);
    const auto found = rows.find(produced);
    if (found == rows.end()) {
      row[kEnd] = 0.0f;
    } else {
      for (const auto& [token, log_probability] : found->second) row[token] = log_probability;
    }
    return row;
  };
}

TEST(Search, StopsOnceNoActiveHypothesisCanWin) {
  // At best the active hypothesis ends after 4 tokens: -1.51 / ((5 + 4) / 6) is below -1.
  TableScorer scorer(kVocabulary, written_table({{{}, {{kEnd, -1.0f}, {2, -1.51f}}}}));
  SearchOptions options = three_words();
  options.beam = 2;
  options.length_penalty = 1.0;

  EXPECT_EQ(search_one(scorer, {7}, options).tokens, Tokens{});
  EXPECT_THAT(scorer.new_nodes, testing::ElementsAre(1));
}

TEST(Search, ContinuesWhileAnActiveHypothesisCanWin) {
  // Tokens of probability 1 up to the limit give the active hypothesis -1.49 / ((5 + 4) / 6), which is above -1.
  TableScorer scorer(kVocabulary, written_table({{{}, {{kEnd, -1.0f}, {2, -1.49f}}},
                                                 {{2}, {{3, 0.0f}}},
                                                 {{2, 3}, {{4, 0.0f}}},
                                                 {{2, 3, 4}, {{kEnd, 0.0f}}}}));
  SearchOptions options = three_words();
  options.beam = 2;
  options.length_penalty = 1.0;

  EXPECT_EQ(search_one(scorer, {7}, options).tokens, (Tokens{2, 3, 4}));
  EXPECT_THAT(scorer.new_nodes, testing::ElementsAre(1, 1, 1, 1));
}

TEST(Search, StopsIfAnActiveHypothesisCanOnlyReachAnEqualScore) {
  TableScorer scorer(kVocabulary, written_table({{{}, {{kEnd, -1.0f}, {2, -1.0f}}}}));
  SearchOptions options = three_words();
  options.beam = 2;
  options.length_penalty = 0.0;

  EXPECT_EQ(search_one(scorer, {7}, options).tokens, Tokens{});
  EXPECT_THAT(scorer.new_nodes, testing::ElementsAre(1));
}

TEST(SearchNBest, PrefersTheEarlierHypothesisThenTheLowerTokenAmongEquals) {
  TableScorer scorer(kVocabulary, written_table({{{}, {{2, -2.0f}, {3, -1.0f}, {4, -2.0f}}},
                                                 {{3}, {{4, -2.0f}, {3, -2.0f}}},
                                                 {{2}, {{2, -1.0f}}},
                                                 {{4}, {{2, -1.0f}}}}));
  SearchOptions options = three_words();
  options.length_penalty = 0.0;
  options.beam = 3;

  std::vector<Tokens> found;
  for (const Hypothesis& hypothesis : search_n_best_of_one(scorer, {7}, options)) found.push_back(hypothesis.tokens);

  EXPECT_THAT(found, testing::ElementsAre(Tokens{3, 3}, Tokens{3, 4}, Tokens{2, 2}));
}

TEST(Search, ComputesOnlyActiveHypothesesAndEachOnce) {
  // One sentence ends after its first token, the other reaches the length limit.
  const Table table = [](const Tokens& input, const Tokens& produced) {
    std::vector<float> row(kVocabulary, -9.0f);
    row[input.front() == 10 && produced.size() == 1 ? kEnd : 2] = -0.1f;
    return row;
  };
  TableScorer scorer(kVocabulary, table);

  const auto found = search(scorer, std::vector<Tokens>{{10}, {11}}, three_words());

  EXPECT_EQ(found[0][0].tokens, Tokens{2});
  EXPECT_EQ(found[1][0].tokens, (Tokens{2, 2, 2}));
  EXPECT_THAT(scorer.new_nodes, testing::ElementsAre(2, 2, 1, 1));
}

TEST(SearchNBest, FinishedHypothesesKeepTheirPartOfTheBeam) {
  TableScorer scorer(kVocabulary, written_table({{{}, {{kEnd, -1.0f}, {2, -1.5f}, {3, -2.0f}}},
                                                 {{2}, {{2, -1.0f}, {3, -1.0f}, {kEnd, -1.0f}}},
                                                 {{3}, {{2, -9.0f}, {3, -9.0f}, {kEnd, -9.0f}}}}));
  SearchOptions options = three_words();
  options.beam = 3;

  EXPECT_EQ(search_n_best_of_one(scorer, {7}, options).size(), 3u);
  EXPECT_THAT(scorer.new_nodes, testing::ElementsAre(1, 2, 1));
}

TEST(Search, EndsEveryOutputAtTheLengthLimit) {
  const Table endless = written_table({{{}, {{2, 0.0f}, {kEnd, -5.0f}}},
                                       {{2}, {{2, 0.0f}, {kEnd, -5.0f}}},
                                       {{2, 2}, {{2, 0.0f}, {kEnd, -5.0f}}},
                                       {{2, 2, 2}, {{2, 0.0f}, {kEnd, -5.0f}}}});
  TableScorer scorer(kVocabulary, endless);
  SearchOptions options = three_words();
  for (const std::int64_t beam : {1, 2}) {
    options.beam = beam;
    options.length_factor = 0.75;
    options.length_offset = 0;
    expect_same(search_one(scorer, {7, 7, 7, 7}, options), hypothesis({2, 2, 2}, -5.0, 0.6));
    expect_same(search_one(scorer, {7, 7, 7}, options), hypothesis({2, 2}, -5.0, 0.6));
    expect_same(search_one(scorer, {7}, options), hypothesis({}, -5.0, 0.6));
    options.length_offset = 1;
    expect_same(search_one(scorer, {7}, options), hypothesis({2}, -5.0, 0.6));
  }
}

TEST(Search, AcceptsALengthLimitAboveTheLargestTree) {
  TableScorer scorer(kVocabulary, written_table({{{}, {{2, -0.5f}}}}));
  SearchOptions options = three_words();
  options.length_factor = *range_of<SearchOptions>("length_factor").largest();
  options.length_offset = 10'000;
  for (const std::int64_t beam : {1, 2}) {
    options.beam = beam;
    EXPECT_EQ(search_one(scorer, {7}, options).tokens, Tokens{2});
  }
  const auto rules = make_search_rules(options, kVocabulary);
  EXPECT_EQ(rules->longest_output(std::int64_t{1} << 40), std::numeric_limits<NodeIndex>::max());
}

TEST(Search, NeverProducesForbiddenTokens) {
  TableScorer scorer(kVocabulary, written_table({{{}, {{2, 0.0f}, {3, -1.0f}}}}));
  SearchOptions options = three_words();
  options.never.push_back(2);
  for (const std::int64_t beam : {1, 2}) {
    options.beam = beam;
    EXPECT_EQ(search_one(scorer, {7}, options).tokens, Tokens{3});
  }
}

TEST(Search, TakesImpossibleTokensOnlyIfThereAreNoOthers) {
  const float impossible = -std::numeric_limits<float>::infinity();
  TableScorer scorer(kVocabulary, [=](const Tokens& input, const Tokens& produced) {
    std::vector<float> row(kVocabulary, impossible);
    if (input.front() == 7 && produced.empty()) row[4] = -20.0f;
    if (!produced.empty()) row[kEnd] = -1.0f;
    return row;
  });
  SearchOptions options = three_words();
  for (const std::int64_t beam : {1, 3}) {
    options.beam = beam;
    EXPECT_EQ(search_one(scorer, {7}, options).tokens, Tokens{4});
    EXPECT_EQ(search_one(scorer, {8}, options).score, impossible);
  }
}

/// Returns no impossible token as a candidate, like a scorer with a shortlist.
class SelectiveScorer : public TableScorer {
 public:
  using TableScorer::TableScorer;

  void step(const StepRequest& request, StepResult& result) override {
    TableScorer::step(request, result);
    for (Candidate& candidate : result.candidates) {
      if (std::isinf(candidate.log_probability)) candidate.token = -1;
    }
  }
};

TEST(Search, EndsAnOutputAfterWhichAllTokensOfAShortlistAreExcluded) {
  SelectiveScorer scorer(kVocabulary, [](const Tokens&, const Tokens&) {
    std::vector<float> row(kVocabulary, -std::numeric_limits<float>::infinity());
    row[3] = -0.1F;
    row[kEnd] = -3;
    return row;
  });
  SearchOptions options = three_words();
  options.no_repeat_ngram = 1;
  options.min_length = 2;
  for (const std::int64_t beam : {1, 2}) {
    options.beam = beam;
    const Hypothesis found = search_one(scorer, {7}, options);
    EXPECT_EQ(found.tokens, Tokens{3});
    EXPECT_NEAR(found.log_probability, -3.1, 1e-6);
  }
}

std::vector<Hypothesis> search_after(const Table& table, const Tokens& prefix, const SearchOptions& options) {
  TableScorer scorer(kVocabulary, table);
  return search(scorer, std::vector<SearchInput>{{.tokens = {7}, .prefix = prefix}}, options).at(0);
}

TEST(Search, TakesTheLikelierTokenBehindAnImpossiblePrefix) {
  const float impossible = -std::numeric_limits<float>::infinity();
  const Table table = written_table({{{}, {{3, impossible}}}, {{3}, {{2, -5.0f}, {4, -1.0f}}}});
  SearchOptions options = three_words();
  for (const std::int64_t beam : {1, 2}) {
    options.beam = beam;
    EXPECT_EQ(search_after(table, {3}, options).at(0).tokens, (Tokens{3, 4}));
  }
}

TEST(Search, EndsAnOutputWhosePrefixContainsTheEndToken) {
  const Table table = written_table({{{2, kEnd}, {{kEnd, -0.1f}, {3, -2.0f}}}});
  SearchOptions without_repetition = three_words();
  without_repetition.no_repeat_ngram = 1;
  SearchOptions with_penalty = three_words();
  with_penalty.repetition_penalty = 1.5;
  for (const SearchOptions& options : {without_repetition, with_penalty}) {
    const Hypothesis found = search_after(table, {2, kEnd}, options).at(0);
    EXPECT_EQ(found.tokens, (Tokens{2, kEnd}));
    EXPECT_FLOAT_EQ(static_cast<float>(found.log_probability), -9.1f);  // the end token is not penalised
  }
}

TEST(Search, StartsEachTreeWithTheBeginToken) {
  TableScorer scorer(kVocabulary, written_table({}));
  SearchOptions options = three_words();
  options.begin_token = 17;

  search(scorer, std::vector<Tokens>{{7}, {8}}, options);

  EXPECT_THAT(scorer.roots, testing::ElementsAre(17, 17));
}

TEST(Search, DoesNotPassEmptyInputsToTheScorer) {
  for (const std::int64_t beam : {1, 2}) {
    TableScorer scorer(kVocabulary, written_table({}));
    SearchOptions options = three_words();
    options.beam = options.n_best = beam;

    EXPECT_TRUE(search(scorer, std::vector<Tokens>(), options).empty());
    for (const auto& n_best : search(scorer, std::vector<Tokens>(2), options)) expect_same(n_best, {Hypothesis()});
    EXPECT_EQ(scorer.num_encode_calls, 0);
  }
}

}  // namespace
}  // namespace edgewise
