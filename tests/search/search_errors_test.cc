// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "edgewise/base/error.h"
#include "tests/search/table_scorer.h"

namespace edgewise {
namespace {

/// What both searches say of options over a vocabulary of eight tokens, and of a scorer's answer.
std::string error_of(const SearchOptions& options, float log_probability = -2.0f) {
  TableScorer scorer(8, [=](const Tokens&, const Tokens& produced) {
    std::vector<float> row(8, -2.0f);
    row[5] = produced.empty() ? -1.0f : log_probability;
    return row;
  });
  const std::vector<Tokens> inputs = {{6}};
  const auto text_of = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const std::string text = text_of([&] { search(scorer, inputs, options); });
  EXPECT_EQ(text_of([&] { search_n_best(scorer, inputs, options); }), text);
  return text;
}

template <typename Value>
std::string error_of(Value SearchOptions::*field, Value value) {
  SearchOptions options;
  options.*field = value;
  return error_of(options);
}

TEST(SearchErrors, NameABeamThatIsNone) {
  EXPECT_EQ(error_of(&SearchOptions::beam, std::int64_t{0}), "search: beam is 0, at least 1 is needed");
  EXPECT_EQ(error_of(&SearchOptions::beam, std::int64_t{-3}), "search: beam is -3, at least 1 is needed");
  EXPECT_EQ(error_of(&SearchOptions::beam, std::int64_t{9}),
            "search: beam is 9, but the vocabulary has 8 tokens; at most so many are needed");
  EXPECT_EQ(error_of(&SearchOptions::beam, std::int64_t{8}), "nothing was thrown");
}

TEST(SearchErrors, NameNumbersOutOfRange) {
  EXPECT_EQ(error_of(&SearchOptions::length_penalty, -0.5),
            "search: length_penalty is -0.5, a finite number of at least 0 is needed");
  EXPECT_EQ(error_of(&SearchOptions::length_penalty, std::numeric_limits<double>::infinity()),
            "search: length_penalty is inf, a finite number of at least 0 is needed");
  EXPECT_EQ(error_of(&SearchOptions::length_factor, std::nan("")),
            "search: length_factor is nan, a finite number of at least 0 is needed");
  EXPECT_EQ(error_of(&SearchOptions::length_offset, std::int64_t{-1}),
            "search: length_offset is -1, at least 0 is needed");
}

TEST(SearchErrors, NameTokensThatTheVocabularyDoesNotHave) {
  EXPECT_EQ(error_of(&SearchOptions::begin_token, std::int64_t{8}),
            "search: begin_token is 8, but the vocabulary has 8 tokens, counted from 0");
  EXPECT_EQ(error_of(&SearchOptions::end_token, std::int64_t{-1}),
            "search: end_token is -1, but the vocabulary has 8 tokens, counted from 0");
  EXPECT_EQ(error_of(&SearchOptions::never, std::vector<std::int64_t>{0, 12}),
            "search: never is 12, but the vocabulary has 8 tokens, counted from 0");
}

TEST(SearchErrors, AskThatOutputsCanEnd) {
  EXPECT_EQ(error_of(&SearchOptions::never, std::vector<std::int64_t>{0, 3}),
            "search: never holds the end token 3, without which no output ends; take it out");
}

TEST(SearchErrors, NameWhatIsNoLogProbability) {
  EXPECT_EQ(error_of(SearchOptions(), std::nanf("")),
            "search: the scorer gave nan for token 5 after 1 tokens, a log-probability of at most 0 is needed");
  EXPECT_EQ(error_of(SearchOptions(), 0.5f),
            "search: the scorer gave 0.5 for token 5 after 1 tokens, a log-probability of at most 0 is needed");
}

TEST(SearchErrors, LetTheLogarithmOfOneBeRounded) { EXPECT_EQ(error_of(SearchOptions(), 1e-6f), "nothing was thrown"); }

TEST(SearchOptions, ListsItsFieldsWithTheirRanges) {
  SearchOptions options;
  const Section fields = fields_of(options);

  ASSERT_EQ(fields.size(), 4u);
  for (const Field& field : fields) EXPECT_FALSE(field.range.contains(-1)) << field.name;
  EXPECT_FALSE(fields[0].range.contains(0)) << fields[0].name;
}

}  // namespace
}  // namespace edgewise
