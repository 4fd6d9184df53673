// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/search/ensemble_scorer.h"
#include "tests/search/table_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

/// Returns the error of a search over a vocabulary of eight tokens with these options and log-probabilities.
std::string refusal_of(const SearchOptions& options, float log_probability = -2.0f,
                       const SearchInput& input = {.tokens = {6}}) {
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
            "search: beam is 0, needs a whole number from 1 to 1000");
  EXPECT_EQ(refusal_of(&SearchOptions::beam, std::int64_t{-3}),
            "search: beam is -3, needs a whole number from 1 to 1000");
  EXPECT_EQ(refusal_of(&SearchOptions::beam, std::int64_t{9}),
            "search: beam is 9, needs at most the 8 tokens of the vocabulary");
  EXPECT_EQ(refusal_of(&SearchOptions::beam, std::int64_t{8}), "no error");
}

TEST(SearchErrors, NameNumbersOutOfRange) {
  EXPECT_EQ(refusal_of(&SearchOptions::length_penalty, -0.5),
            "search: length_penalty is -0.5, needs a number from 0 to 10");
  EXPECT_EQ(refusal_of(&SearchOptions::length_penalty, std::numeric_limits<double>::infinity()),
            "search: length_penalty is inf, needs a number from 0 to 10");
  EXPECT_EQ(refusal_of(&SearchOptions::length_factor, std::nan("")),
            "search: length_factor is nan, needs a number from 0 to 100");
  EXPECT_EQ(refusal_of(&SearchOptions::length_offset, std::int64_t{-1}),
            "search: length_offset is -1, needs a whole number from 0 to 10000");
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
  EXPECT_EQ(refusal_of(SearchOptions(), -2.0f, {.tokens = {6}, .prefix = {5, 8}}),
            "search: a prefix has token 8, but the vocabulary has 8 tokens, counted from 0");
  EXPECT_EQ(refusal_of(SearchOptions(), -2.0f, {.tokens = {6}, .forced = {-1}}),
            "search: a forced beginning has token -1, but the vocabulary has 8 tokens, counted from 0");
}

/// Gives no candidates, as the scorers of a model do whose numbers are NaN.
class SilentScorer : public Scorer {
 public:
  std::int64_t vocabulary_size() const override { return 8; }
  void encode(std::span<const std::int64_t>, std::span<const Tokens>) override {}
  void step(const StepRequest& request, StepResult& result) override {
    result.candidates.assign(request.nodes.size() * static_cast<std::size_t>(request.num_candidates), {-1, 0.0f});
  }
};

TEST(SearchErrors, NameAModelWithoutProbabilities) {
  SilentScorer scorer;
  const std::vector<Tokens> inputs = {{6}};
  EXPECT_EQ(
      error_of([&] { search(scorer, inputs); }),
      "search: the scorer gave no continuation of 0 tokens, needs one; the model computes infinite numbers or NaN");
}

TEST(SearchErrors, NameNaNOfAnEnsemble) {
  std::vector<std::unique_ptr<Scorer>> members;
  for (int i = 0; i < 2; ++i) {
    members.push_back(std::make_unique<TableScorer>(
        8, [](const Tokens&, const Tokens&) { return std::vector<float>(8, std::nanf("")); }));
  }
  EnsembleScorer scorer(std::move(members));
  const std::vector<Tokens> inputs = {{6}};
  EXPECT_NE(error_of([&] { search(scorer, inputs); }), "no error");
}

TEST(SearchErrors, NameAPrefixWhoseAncestorsWouldFillTheMemory) {
  EXPECT_EQ(refusal_of(SearchOptions(), -2.0f, {.tokens = {6}, .prefix = Tokens(10'001, 5)}),
            "search: a prefix has 10001 tokens, needs at most 10000");
}

TEST(SearchErrors, NameAnNBestAboveTheBeam) {
  EXPECT_EQ(refusal_of(&SearchOptions::n_best, std::int64_t{2}),
            "search: n_best is 2, needs at most the beam, which is 1");
}

TEST(SearchErrors, NameACapacityOutOfRange) {
  TableScorer scorer(8, random_table(8, 1));
  const std::vector<Tokens> inputs = {{6}};
  EXPECT_EQ(error_of([&] { search(scorer, inputs, {}, {.sentences = 0}); }),
            "search: capacity.sentences is 0, needs at least 1");
  EXPECT_EQ(error_of([&] { search(scorer, inputs, {}, {.tokens = -1}); }),
            "search: capacity.tokens is -1, needs at least 0");
}

TEST(SearchErrors, NameAForbiddenEndToken) {
  EXPECT_EQ(refusal_of(&SearchOptions::never, std::vector<std::int64_t>{0, 3}),
            "search: never holds the end token 3, without which no output ends; take it out");
  EXPECT_EQ(refusal_of(&SearchOptions::once, std::vector<std::int64_t>{0, 3}),
            "search: once holds the end token 3, which each output may have; take it out");
}

TEST(SearchErrors, NameNumbersThatAreNoLogProbabilities) {
  EXPECT_EQ(refusal_of(SearchOptions(), std::nanf("")),
            "search: the scorer gave nan for token 0 after 1 tokens, needs a log-probability of at most 0");
  EXPECT_EQ(refusal_of(SearchOptions(), 0.5f),
            "search: the scorer gave 0.5 for token 0 after 1 tokens, needs a log-probability of at most 0");
}

TEST(SearchErrors, IgnoreRoundingOfTheLogarithmOfOne) { EXPECT_EQ(refusal_of(SearchOptions(), 1e-6f), "no error"); }

TEST(SearchOptions, ListsItsFieldsWithTheirRanges) {
  SearchOptions options;
  for (const Field& field : fields_of(options)) {
    const bool is_number =
        std::holds_alternative<double*>(field.value) || std::holds_alternative<std::int64_t*>(field.value);
    const bool may_be_unset = field.name == "attention_layer" || field.name == "attention_head";
    EXPECT_EQ(field.range.contains(-1), !is_number || may_be_unset) << field.name;
  }
}

TEST(SearchErrors, NameAnOptionThatHasNoEffectBecauseOfAnother) {
  const auto error_with = [](const SearchOptions& options, const SearchOptions& before = {}) {
    return error_of([&] { check_effects(options, before, "translate"); });
  };
  EXPECT_EQ(error_with({}), "no error");
  EXPECT_EQ(error_with({.temperature = 0.5}), "translate: search.temperature is 0.5, needs search.kind=sampling");
  EXPECT_EQ(error_with({.kind = SearchKind::kSampling, .temperature = 0.5}), "no error");
  EXPECT_EQ(error_with({.kind = SearchKind::kSampling, .beam = 4}),
            "translate: search.beam is 4, needs search.kind=beam");
  EXPECT_EQ(error_with({.length_norm = LengthNorm::kNone, .length_penalty = 1.0}),
            "translate: search.length_penalty is 1.0, needs search.length_norm=gnmt or power");
}

TEST(SearchErrors, NameAnOptionThatHasNoEffectUnderTheRulesOfTheSearch) {
  const auto error_with = [](const SearchOptions& options) {
    return error_of([&] { check_effects(options, {}, "translate"); });
  };
  const BeamRules theirs = BeamRules::kHuggingFace;
  EXPECT_EQ(error_with({.rules = theirs, .length_penalty = 1.0, .max_length = 9, .stop_when = StopWhen::kFull}),
            "no error");
  EXPECT_EQ(error_with({.rules = theirs, .coverage_penalty = 0.5, .max_length = 9}),
            "translate: search.coverage_penalty is 0.5, needs search.rules=edgewise");
  EXPECT_EQ(error_with({.rules = theirs, .length_norm = LengthNorm::kNone, .max_length = 9}),
            "translate: search.length_norm is \"none\", needs search.rules=edgewise");
  EXPECT_EQ(error_with({.rules = theirs, .length_factor = 3, .max_length = 9}),
            "translate: search.length_factor is 3.0, needs search.rules=edgewise");
  EXPECT_EQ(error_with({.rules = theirs, .length_offset = 3, .max_length = 9}),
            "translate: search.length_offset is 3, needs search.rules=edgewise");
  EXPECT_EQ(error_with({.rules = theirs, .max_length = 9, .min_length_factor = 0.5}),
            "translate: search.min_length_factor is 0.5, needs search.rules=edgewise");
  EXPECT_EQ(error_with({.rules = theirs, .max_length = 9, .early_stop = false}),
            "translate: search.early_stop is false, needs search.rules=edgewise");
  EXPECT_EQ(error_with({.stop_when = StopWhen::kFull}),
            "translate: search.stop_when is \"full\", needs search.rules=huggingface");
  EXPECT_EQ(error_with({.kind = SearchKind::kSampling, .force_end = false}),
            "translate: search.force_end is false, needs search.kind=beam");
  EXPECT_EQ(error_with({.renormalize = true}), "translate: search.renormalize is true, needs search.rules=huggingface");
  EXPECT_EQ(error_with({.rules = theirs}),
            "translate: search.rules is \"huggingface\", needs search.max_length of at least 2");
  EXPECT_EQ(
      error_with({.rules = theirs, .max_length = 9, .repetition_penalty = 2}),
      "translate: search.repetition_penalty is 2.0, needs search.beam of at least 2 with search.rules=huggingface");
  EXPECT_EQ(error_with({.kind = SearchKind::kSampling, .rules = theirs}),
            "translate: search.rules is \"huggingface\", needs search.kind=beam");
}

TEST(SearchErrors, NameOptionsThatTheRulesOfHuggingFaceCannotFollow) {
  SearchOptions options = {.rules = BeamRules::kHuggingFace};
  EXPECT_EQ(refusal_of(options), "search: max_length is 0, needs at least 2 with rules=huggingface");
  options.max_length = 2;
  EXPECT_EQ(refusal_of(options), "no error");
  options.repetition_penalty = 1.5;
  EXPECT_EQ(refusal_of(options),
            "search: repetition_penalty is 1.5, needs a beam of at least 2 with rules=huggingface");
  options.beam = 2;
  EXPECT_EQ(refusal_of(options), "no error");
}

TEST(SearchOptions, LimitOutputsToTheirPositions) {
  EXPECT_EQ(max_length_for({}, 8), 7);                                  // and the begin token
  EXPECT_EQ(max_length_for({.rules = BeamRules::kHuggingFace}, 8), 9);  // with the last token, which needs no position
}

TEST(SearchErrors, DoNotNameAnOptionThatTheCallerLeavesAsItWas) {
  const SearchOptions before = {.beam = 4, .length_penalty = 1.0};
  SearchOptions options = before;
  options.kind = SearchKind::kSampling;
  options.length_norm = LengthNorm::kAverage;
  EXPECT_EQ(error_of([&] { check_effects(options, before, "translate"); }), "no error");
}

}  // namespace
}  // namespace edgewise
