// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "edgewise/base/error.h"
#include "tests/search/table_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

/// Returns the error of a search over a vocabulary of eight tokens with these options and log-probabilities.
std::string refusal_of(const SearchOptions& options, float log_probability = -2.0f,
                       const SearchInput& input = {{6}, {}, 0}) {
  TableScorer scorer(8, [=](const Tokens&, const Tokens& produced) {
    if (!produced.empty()) return std::vector<float>(8, log_probability);
    std::vector<float> row(8, -2.0f);
    row[5] = -1.0f;
    return row;
  });
  return error_of([&] { search(scorer, std::vector<SearchInput>{input}, options); });
}

template <typename Value>
std::string refusal_of(Value SearchOptions::*field, Value value) {
  SearchOptions options;
  options.*field = value;
  return refusal_of(options);
}

TEST(SearchErrors, NameABeamOutOfRange) {
  EXPECT_EQ(refusal_of(&SearchOptions::beam, std::int64_t{0}),
            "search: beam is 0, a finite number of at least 1 is needed");
  EXPECT_EQ(refusal_of(&SearchOptions::beam, std::int64_t{-3}),
            "search: beam is -3, a finite number of at least 1 is needed");
  EXPECT_EQ(refusal_of(&SearchOptions::beam, std::int64_t{9}),
            "search: beam is 9, but the vocabulary has 8 tokens; at most so many are needed");
  EXPECT_EQ(refusal_of(&SearchOptions::beam, std::int64_t{8}), "no error");
}

TEST(SearchErrors, NameNumbersOutOfRange) {
  EXPECT_EQ(refusal_of(&SearchOptions::length_penalty, -0.5),
            "search: length_penalty is -0.5, a finite number of at least 0 is needed");
  EXPECT_EQ(refusal_of(&SearchOptions::length_penalty, std::numeric_limits<double>::infinity()),
            "search: length_penalty is inf, a finite number of at least 0 is needed");
  EXPECT_EQ(refusal_of(&SearchOptions::length_factor, std::nan("")),
            "search: length_factor is nan, a finite number of at least 0 is needed");
  EXPECT_EQ(refusal_of(&SearchOptions::length_offset, std::int64_t{-1}),
            "search: length_offset is -1, a finite number of at least 0 is needed");
}

TEST(SearchErrors, NameTokensOutsideTheVocabulary) {
  EXPECT_EQ(refusal_of(&SearchOptions::begin_token, std::int64_t{8}),
            "search: begin_token is 8, but the vocabulary has 8 tokens, counted from 0");
  EXPECT_EQ(refusal_of(&SearchOptions::end_token, std::int64_t{-1}),
            "search: end_token is -1, but the vocabulary has 8 tokens, counted from 0");
  EXPECT_EQ(refusal_of(&SearchOptions::never, std::vector<std::int64_t>{0, 12}),
            "search: never is 12, but the vocabulary has 8 tokens, counted from 0");
  EXPECT_EQ(refusal_of(&SearchOptions::only, std::vector<std::int64_t>{-2}),
            "search: only is -2, but the vocabulary has 8 tokens, counted from 0");
  EXPECT_EQ(refusal_of(SearchOptions(), -2.0f, {{6}, {5, 8}, 0}),
            "search: a prefix has token 8, but the vocabulary has 8 tokens, counted from 0");
}

TEST(SearchErrors, NameAnNBestAboveTheBeam) {
  EXPECT_EQ(refusal_of(&SearchOptions::n_best, std::int64_t{2}),
            "search: n_best is 2, but the beam is 1; a beam at least as wide is needed");
}

TEST(SearchErrors, NameACapacityOutOfRange) {
  TableScorer scorer(8, random_table(8, 1));
  const std::vector<Tokens> inputs = {{6}};
  EXPECT_EQ(error_of([&] { search(scorer, inputs, {}, {.sentences = 0}); }),
            "search: capacity.sentences is 0, at least 1 is needed");
  EXPECT_EQ(error_of([&] { search(scorer, inputs, {}, {.tokens = -1}); }),
            "search: capacity.tokens is -1, at least 0 is needed");
}

TEST(SearchErrors, NameAForbiddenEndToken) {
  EXPECT_EQ(refusal_of(&SearchOptions::never, std::vector<std::int64_t>{0, 3}),
            "search: never holds the end token 3, without which no output ends; take it out");
}

TEST(SearchErrors, NameNumbersThatAreNoLogProbabilities) {
  EXPECT_EQ(refusal_of(SearchOptions(), std::nanf("")),
            "search: the scorer gave nan for token 0 after 1 tokens, a log-probability of at most 0 is needed");
  EXPECT_EQ(refusal_of(SearchOptions(), 0.5f),
            "search: the scorer gave 0.5 for token 0 after 1 tokens, a log-probability of at most 0 is needed");
}

TEST(SearchErrors, IgnoreRoundingOfTheLogarithmOfOne) { EXPECT_EQ(refusal_of(SearchOptions(), 1e-6f), "no error"); }

TEST(SearchOptions, ListsItsFieldsWithTheirRanges) {
  SearchOptions options;
  for (const Field& field : fields_of(options)) {
    const bool is_number =
        std::holds_alternative<double*>(field.value) || std::holds_alternative<std::int64_t*>(field.value);
    EXPECT_EQ(field.range.contains(-1), !is_number) << field.name;
  }
}

}  // namespace
}  // namespace edgewise
