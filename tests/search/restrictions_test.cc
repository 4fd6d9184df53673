// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/restrictions.h"

#include <gtest/gtest.h>

#include <map>

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 10;
constexpr std::int64_t kBegin = 2;
constexpr std::int64_t kEnd = 3;

std::map<std::int64_t, Restriction> restrictions_of(const SearchOptions& options, const Tokens& path,
                                                    bool is_too_short = false) {
  std::map<std::int64_t, Restriction> found;
  const auto rules = make_search_rules(options, kVocabulary);
  for (const auto& [token, restriction] : restricted_tokens(*rules, path, {.is_too_short = is_too_short}))
    found[token] = restriction;
  return found;
}

using Expected = std::map<std::int64_t, Restriction>;

TEST(RestrictedTokens, CompleteNGramsOfTheOutput) {
  EXPECT_EQ(restrictions_of({.no_repeat_ngram = 2}, {kBegin, 5, 6, 5, 7, 5}),
            (Expected{{6, Restriction::kForbidden}, {7, Restriction::kForbidden}}));
  EXPECT_EQ(restrictions_of({.no_repeat_ngram = 1}, {kBegin, 5}), (Expected{{5, Restriction::kForbidden}}));
  EXPECT_EQ(restrictions_of({.no_repeat_ngram = 3}, {kBegin, 5, 5}), Expected());
}

TEST(RestrictedTokens, PermitATokenThatMayOccurOnceIfTheInputHasItAndTheOutputHasNot) {
  const auto rules = make_search_rules({.once = {7, 8, 9}}, kVocabulary);
  Expected found;
  const Tokens path = {kBegin, 5, 8};
  const Tokens once = {7, 8};
  for (const auto& [token, restriction] : restricted_tokens(*rules, path, {.once = once})) {
    found[token] = restriction;
  }
  EXPECT_EQ(found, (Expected{{7, Restriction::kPermitted}}));
}

TEST(RestrictedTokens, CountTheBeginTokenUnderTheRulesOfHuggingFaceAlone) {
  SearchOptions options = {.max_length = 9, .no_repeat_ngram = 1};
  EXPECT_EQ(restrictions_of(options, {kBegin}), Expected());
  options.rules = BeamRules::kHuggingFace;
  EXPECT_EQ(restrictions_of(options, {kBegin}), (Expected{{kBegin, Restriction::kForbidden}}));
  options.no_repeat_ngram = 0;
  options.beam = 2;
  options.repetition_penalty = 1.5;
  EXPECT_EQ(restrictions_of(options, {kBegin}), (Expected{{kBegin, Restriction::kPenalized}}));
}

TEST(RestrictedTokens, KeepAnEarlyEndTokenAsTheLastResortUnderOurRulesAlone) {
  SearchOptions options = {.max_length = 9};
  EXPECT_EQ(restrictions_of(options, {kBegin}, true), (Expected{{kEnd, Restriction::kLastResort}}));
  options.rules = BeamRules::kHuggingFace;
  EXPECT_EQ(restrictions_of(options, {kBegin}, true), (Expected{{kEnd, Restriction::kForbidden}}));
}

TEST(RestrictedTokens, DoNotIncludeTheEndTokenOfAPrefixUnderOurRules) {
  SearchOptions options = {.beam = 2, .max_length = 9, .no_repeat_ngram = 1, .repetition_penalty = 1.5};
  EXPECT_EQ(restrictions_of(options, {kBegin, 5, kEnd}), (Expected{{5, Restriction::kForbidden}}));
  options.no_repeat_ngram = 0;
  EXPECT_EQ(restrictions_of(options, {kBegin, 5, kEnd}), (Expected{{5, Restriction::kPenalized}}));
  EXPECT_EQ(restrictions_of(options, {kBegin, kEnd}, true), (Expected{{kEnd, Restriction::kLastResort}}));
  options.rules = BeamRules::kHuggingFace;
  EXPECT_EQ(restrictions_of(options, {kBegin, kEnd}),
            (Expected{{kBegin, Restriction::kPenalized}, {kEnd, Restriction::kPenalized}}));
}

TEST(RestrictedTokens, IncludeThoseOfNoOutputIfProbabilitiesAreRenormalized) {
  SearchOptions options = {.rules = BeamRules::kHuggingFace, .beam = 2, .max_length = 9, .repetition_penalty = 2.0};
  options.never = {7, kBegin};
  EXPECT_EQ(restrictions_of(options, {kBegin, 6}),
            (Expected{{kBegin, Restriction::kPenalized}, {6, Restriction::kPenalized}}));
  options.renormalize = true;
  EXPECT_EQ(restrictions_of(options, {kBegin, 6}),
            (Expected{{kBegin, Restriction::kForbidden}, {6, Restriction::kPenalized}, {7, Restriction::kForbidden}}));
}

}  // namespace
}  // namespace edgewise
