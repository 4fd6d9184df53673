// SPDX-License-Identifier: Apache-2.0
// Compares beam search with an enumeration of all outputs, for all length norms and restrictions.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/search/table_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

// Three words may follow; a beam as wide as the vocabulary holds every output of up to three words: 1 + 3 + 9 + 27.
constexpr std::int64_t kVocabulary = 40;
constexpr std::int64_t kEnd = 1;
const Tokens kWords = {2, 3, 4};
constexpr std::int64_t kLongest = 3;

SearchOptions arbitrary_options() {
  SearchOptions options;
  options.begin_token = 0;
  options.end_token = kEnd;
  options.only = kWords;
  options.length_factor = 0.0;
  options.length_offset = kLongest;
  options.length_norm = *rc::gen::element(LengthNorm::kGnmt, LengthNorm::kAverage, LengthNorm::kNone);
  options.length_penalty = *rc::gen::element(0.0, 0.6, 2.0);
  options.coverage_penalty = *rc::gen::element(0.0, 0.0, 0.2, 3.0);
  options.min_length = *rc::gen::inRange<std::int64_t>(0, kLongest + 2);
  options.no_repeat_ngram = *rc::gen::inRange<std::int64_t>(0, 3);
  options.repetition_penalty = *rc::gen::element(1.0, 1.0, 1.7);
  options.attention = *rc::gen::arbitrary<bool>();
  return options;
}

struct Case {
  SearchOptions options;
  std::uint64_t seed;
  bool has_equals;
  Tokens input;
  Tokens prefix;

  Table table() const { return has_equals ? table_with_equals(kVocabulary, seed) : random_table(kVocabulary, seed); }
  TableScorer scorer() const { return {kVocabulary, table(), random_attention(seed)}; }
  std::vector<Hypothesis> search(const SearchOptions& used) const {
    TableScorer asked = scorer();
    return edgewise::search(asked, std::vector<SearchInput>{{.tokens = input, .prefix = prefix}}, used).at(0);
  }
};

Case arbitrary_case() {
  Case found{arbitrary_options(), *rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<bool>(), {}, {}};
  found.input = *rc::gen::container<Tokens>(*rc::gen::inRange<std::size_t>(1, 4), rc::gen::inRange<std::int64_t>(2, 9));
  found.prefix = *rc::gen::container<Tokens>(*rc::gen::inRange<std::size_t>(0, 3),
                                             rc::gen::inRange<std::int64_t>(2, 9));  // includes forbidden words
  return found;
}

bool repeats_an_ngram(const Tokens& tokens, std::int64_t size) {
  if (size == 0 || std::ssize(tokens) < size) return false;
  const auto last = tokens.end() - size;
  for (auto begin = tokens.begin(); begin != last; ++begin) {
    if (std::equal(last, tokens.end(), begin)) return true;
  }
  return false;
}

/// Computes the score of a whole output by its definition.
double score_of(const Case& given, const Tokens& tokens, double log_probability) {
  const SearchOptions& options = given.options;
  const auto length = static_cast<double>(tokens.size() + 1);
  double divisor = 1;
  if (options.length_norm == LengthNorm::kGnmt) divisor = std::pow((5.0 + length) / 6.0, options.length_penalty);
  if (options.length_norm == LengthNorm::kAverage) divisor = length;
  double score = log_probability / divisor;
  for (std::size_t i = 0; i < given.input.size() && options.coverage_penalty > 0; ++i) {
    double seen = 0;
    for (std::size_t length_so_far = 0; length_so_far <= tokens.size(); ++length_so_far) {
      const Tokens so_far(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length_so_far));
      seen += random_attention(given.seed)(given.input, so_far)[i];
    }
    score += options.coverage_penalty * std::log(std::min(seen, 1.0));
  }
  return score;
}

/// Returns all outputs that the options allow, best first.
std::vector<Hypothesis> all_outputs(const Case& given) {
  const SearchOptions& options = given.options;
  const Table table = given.table();
  std::vector<Hypothesis> outputs;
  const auto visit = [&](const auto& self, const Tokens& produced, double log_probability) -> void {
    const std::vector<float> next = table(given.input, produced);
    const auto add = [&] {
      outputs.emplace_back();
      outputs.back().tokens = produced;
      outputs.back().score = score_of(given, produced, log_probability + next[kEnd]);
    };
    const auto length = std::ssize(produced);
    if (length >= kLongest) return add();
    bool goes_on = false;
    for (const std::int64_t word : kWords) {
      Tokens longer = produced;
      longer.push_back(word);
      if (repeats_an_ngram(longer, options.no_repeat_ngram)) continue;
      const bool is_repeated = std::ranges::find(produced, word) != produced.end();
      goes_on = true;
      self(self, longer, log_probability + next[word] * (is_repeated ? options.repetition_penalty : 1.0));
    }
    if (length >= std::min(options.min_length, kLongest) || !goes_on) add();
  };
  double log_probability = 0;
  Tokens produced;
  for (const std::int64_t token : given.prefix) {
    log_probability += table(given.input, produced)[token];
    produced.push_back(token);
  }
  visit(visit, produced, log_probability);
  std::ranges::stable_sort(outputs, std::ranges::greater(), &Hypothesis::score);
  return outputs;
}

RC_GTEST_PROP(Beam, FindsTheBestOutputsAtFullWidth, ()) {
  Case given = arbitrary_case();
  given.options.beam = kVocabulary;
  given.options.n_best = *rc::gen::inRange<std::int64_t>(1, kVocabulary + 1);

  const auto found = given.search(given.options);

  auto expected = all_outputs(given);
  expected.resize(std::min(expected.size(), static_cast<std::size_t>(given.options.n_best)));
  RC_ASSERT(found.size() == expected.size());
  std::set<Tokens> different;
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_ASSERT(std::abs(found[i].score - expected[i].score) < 1e-9);
    RC_ASSERT(std::abs(score_of(given, found[i].tokens, found[i].log_probability) - found[i].score) < 1e-9);
    different.insert(found[i].tokens);
  }
  RC_ASSERT(different.size() == expected.size());
}

RC_GTEST_PROP(Beam, EarlyStoppingDoesNotChangeResults, ()) {
  Case given = arbitrary_case();
  given.options.beam = *rc::gen::inRange<std::int64_t>(1, 8);
  given.options.n_best = *rc::gen::inRange<std::int64_t>(1, given.options.beam + 1);
  SearchOptions patient = given.options;
  patient.early_stop = false;

  const auto found = given.search(given.options);
  const auto expected = given.search(patient);

  RC_ASSERT(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_ASSERT(found[i].tokens == expected[i].tokens);
    RC_ASSERT(found[i].score == expected[i].score);
    RC_ASSERT(found[i].attention == expected[i].attention);
  }
}

TEST(Beam, StopsEarlyWherePossible) {
  SearchOptions options;
  options.beam = 4;
  options.only = kWords;
  std::int64_t steps_saved = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    TableScorer early(kVocabulary, random_table(kVocabulary, seed));
    TableScorer patient(kVocabulary, random_table(kVocabulary, seed));
    options.early_stop = true;
    search(early, std::vector<Tokens>{{5, 6}}, options);
    options.early_stop = false;
    search(patient, std::vector<Tokens>{{5, 6}}, options);
    steps_saved += std::ssize(patient.new_nodes) - std::ssize(early.new_nodes);
  }
  EXPECT_GT(steps_saved, 0);
}

RC_GTEST_PROP(Beam, WidthOneEqualsGreedySearch, ()) {
  Case given = arbitrary_case();
  const SearchOptions& options = given.options;
  const Table table = given.table();
  Tokens produced = given.prefix;
  while (std::ssize(produced) < kLongest) {
    const std::vector<float> next = table(given.input, produced);
    std::int64_t best = -1;
    double most = 0;
    for (const std::int64_t token : {kEnd, kWords[0], kWords[1], kWords[2]}) {
      Tokens longer = produced;
      longer.push_back(token);
      const bool is_repeated = std::ranges::find(produced, token) != produced.end();
      const double worth = next[token] * (is_repeated && token != kEnd ? options.repetition_penalty : 1.0);
      if (token == kEnd && std::ssize(produced) < std::min(options.min_length, kLongest)) continue;
      if (token != kEnd && repeats_an_ngram(longer, options.no_repeat_ngram)) continue;
      if (best < 0 || worth > most) {
        best = token;
        most = worth;
      }
    }
    if (best < 0 || best == kEnd) break;
    produced.push_back(best);
  }

  RC_ASSERT(given.search(options).at(0).tokens == produced);
}

RC_GTEST_PROP(Beam, ReturnsAttentionAndPonderStepsOfEachToken, ()) {
  Case given = arbitrary_case();
  given.options.attention = true;
  given.options.beam = 3;

  const Hypothesis found = given.search(given.options).at(0);

  const std::size_t inputs = given.input.size();
  RC_ASSERT(found.attention.size() == (found.tokens.size() + 1) * inputs);
  const std::vector<std::int64_t> aligned = alignment(found);
  RC_ASSERT(aligned.size() == found.tokens.size());
  RC_ASSERT(found.ponder_steps.size() == found.tokens.size() + 1);
  for (std::size_t i = 0; i <= found.tokens.size(); ++i) {
    const Tokens so_far(found.tokens.begin(), found.tokens.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<float> weights = random_attention(given.seed)(given.input, so_far);
    const auto row = found.attention.begin() + static_cast<std::ptrdiff_t>(i * inputs);
    RC_ASSERT(std::equal(weights.begin(), weights.end(), row));
    RC_ASSERT(found.ponder_steps[i] == table_ponder_steps(so_far));
    if (i < aligned.size()) RC_ASSERT(aligned[i] == std::ranges::max_element(weights) - weights.begin());
  }
}

TEST(Alignment, NeedsAttention) {
  Hypothesis without;
  without.tokens = {4};
  EXPECT_EQ(error_of([&] { alignment(without); }),
            "alignment: the hypothesis has no attention, needs it; search with options.attention");
  without.tokens.clear();
  EXPECT_TRUE(alignment(without).empty());
}

TEST(Beam, LimitsLengthsByTheInputLength) {
  TableScorer scorer(kVocabulary, [](const Tokens&, const Tokens& produced) {
    std::vector<float> row(kVocabulary, -9.0f);
    row[kEnd] = produced.empty() ? -1.0f : -3.0f;
    row[2] = -2.0f;
    return row;
  });
  const auto length = [&](const SearchOptions& options) {
    return search(scorer, std::vector<Tokens>{{5, 6, 7, 8}}, options).at(0).at(0).tokens.size();
  };

  EXPECT_EQ(length({.end_token = kEnd}), 0u);
  EXPECT_EQ(length({.length_factor = 0.5, .length_offset = 3, .min_length = 1, .end_token = kEnd}), 5u);
  EXPECT_EQ(length({.max_length = 4, .min_length = 1, .end_token = kEnd}), 4u);
  EXPECT_EQ(length({.max_length = 4, .min_length = 9, .end_token = kEnd}), 4u);
  EXPECT_EQ(length({.length_offset = 90, .min_length_factor = 0.5, .min_length = 1, .end_token = kEnd}), 98u);
}

}  // namespace
}  // namespace edgewise
