// SPDX-License-Identifier: Apache-2.0
// Compares beam search with an enumeration of all outputs, for all options.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/search/search_cases.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

// A beam as wide as this vocabulary holds every output that arbitrary_search_options() allows.
constexpr std::int64_t kVocabulary = 40;
constexpr std::int64_t kEnd = 1;
const Tokens kWords = {2, 3, 4};

SearchCase arbitrary_beam_case() {
  SearchCase given = arbitrary_search_case(kVocabulary);
  given.options.kind = SearchKind::kBeam;
  return given;
}

/// Compares scores, which may be -inf.
bool are_near(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

RC_GTEST_PROP(Beam, FindsTheBestOutputsAtFullWidth, ()) {
  SearchCase given = arbitrary_beam_case();
  given.options.force_end = *rc::gen::arbitrary<bool>();
  given.options.beam = kVocabulary;
  given.options.n_best = *rc::gen::inRange<std::int64_t>(1, kVocabulary + 1);

  const auto found = given.search(given.options);

  auto expected = all_outputs(given);
  expected.resize(std::min(expected.size(), static_cast<std::size_t>(given.options.n_best)));
  RC_ASSERT(found.size() == expected.size());
  std::set<Tokens> different;
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_ASSERT(are_near(found[i].score, expected[i].score));
    RC_ASSERT(are_near(score_of(given, found[i].tokens, found[i].log_probability), found[i].score));
    different.insert(found[i].tokens);
  }
  RC_ASSERT(different.size() == expected.size());
}

RC_GTEST_PROP(Beam, EarlyStoppingDoesNotChangeResults, ()) {
  SearchCase given = arbitrary_beam_case();
  given.options.force_end = *rc::gen::arbitrary<bool>();
  given.options.early_stop = true;
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

RC_GTEST_PROP(Beam, ReturnsAsManyOutputsAsTheInputWants, ()) {
  SearchCase given = arbitrary_beam_case();
  const auto all = given.search(given.options);
  given.input.n_best = *rc::gen::inRange<std::int64_t>(1, 10);
  const auto found = given.search(given.options);

  RC_ASSERT(found.size() == std::min(all.size(), static_cast<std::size_t>(given.input.n_best)));
  for (std::size_t i = 0; i < found.size(); ++i) RC_ASSERT(found[i].tokens == all[i].tokens);
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
  SearchCase given = arbitrary_beam_case();
  given.options.beam = given.options.n_best = 1;
  Tokens produced = given.input.prefix;
  while (true) {
    const std::vector<NextToken> next = tokens_after(given, produced);
    const std::int64_t best = std::ranges::max_element(next, {}, &NextToken::log_probability)->token;
    if (best == given.options.end_token) break;
    produced.push_back(best);
  }

  RC_ASSERT(given.search(given.options).at(0).tokens == produced);
}

RC_GTEST_PROP(Beam, ReturnsAttentionAndPonderStepsOfEachToken, ()) {
  SearchCase given = arbitrary_beam_case();
  given.options.attention = true;

  const Hypothesis found = given.search(given.options).at(0);

  const std::size_t inputs = given.input.tokens.size();
  RC_ASSERT(found.attention.size() == (found.tokens.size() + 1) * inputs);
  const std::vector<std::int64_t> aligned = alignment(found);
  RC_ASSERT(aligned.size() == found.tokens.size());
  RC_ASSERT(found.ponder_steps.size() == found.tokens.size() + 1);
  for (std::size_t i = 0; i <= found.tokens.size(); ++i) {
    const Tokens so_far(found.tokens.begin(), found.tokens.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<float> weights = given.attention(given.input.tokens, so_far);
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
  EXPECT_EQ(
      length({.length_offset = 90, .min_length_factor = 0.5, .min_length = 1, .stop_loops = false, .end_token = kEnd}),
      98u);
}

TEST(Beam, EndsOutputsAtTheLimitWithAnyTokenUnlessTheEndIsForced) {
  TableScorer scorer(kVocabulary, [](const Tokens&, const Tokens&) {
    std::vector<float> row(kVocabulary, -9.0f);
    row[2] = -0.5f;
    return row;
  });
  const auto best = [&](bool force_end) {
    SearchOptions options = {.length_norm = LengthNorm::kPower, .length_penalty = 2.0, .max_length = 3};
    options.force_end = force_end;
    options.end_token = kEnd;
    return search(scorer, std::vector<Tokens>{{5, 6, 7, 8}}, options).at(0).at(0);
  };

  EXPECT_EQ(best(true).tokens, (Tokens{2, 2, 2}));
  EXPECT_DOUBLE_EQ(best(true).score, (3 * -0.5 - 9) / 16);
  EXPECT_EQ(best(false).tokens, (Tokens{2, 2, 2}));
  EXPECT_DOUBLE_EQ(best(false).score, 3 * -0.5 / 9);
}

}  // namespace
}  // namespace edgewise
