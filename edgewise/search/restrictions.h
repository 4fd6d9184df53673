// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/search/hypothesis.h"
#include "edgewise/search/rules.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// The most tokens of a phrase whose repetition is found.
inline constexpr std::int64_t kLongestPhrase = 24;

/// How often in a row an output may contain a phrase, by its input.
struct CopyLimits {
  std::int64_t token;    // a phrase of one token; more copies are a loop
  std::int64_t phrase;   // a longer phrase; more copies are a loop
  std::int64_t copying;  // any phrase, in a search that avoids loops: as often as the input contains one in a row
};

/// Returns the limits for an input in which one token occurs n times, and none more often: n + 5 copies of a token,
/// n + 2 copies of a longer phrase. So an output is a loop only if it repeats a phrase far more often than its input
/// repeats anything, wherever in the input.
CopyLimits copy_limits(std::span<const std::int64_t> input);

/// Returns whether the tokens end with more copies in a row than the limits allow. Costs O(kLongestPhrase) for most
/// tokens.
bool ends_with_loop(std::span<const std::int64_t> tokens, const CopyLimits& limits);

/// Returns the tokens after which `tokens` would end with more than `most` copies of a phrase in a row, in the order of
/// the phrase's length; a token may be there several times.
std::vector<std::int64_t> tokens_that_copy(std::span<const std::int64_t> tokens, std::int64_t most);

enum class Restriction {
  kForbidden,  // the token must not follow
  kPermitted,  // the token may follow, although other outputs must not contain it
  kPenalized,  // the repetition penalty multiplies the token's log-probability
  kLastResort  // the token follows if no other token may
};

/// A token that a hypothesis restricts.
struct RestrictedToken {
  std::int64_t token;
  Restriction restriction;
};

/// Limits of one hypothesis beside the rules of all searches.
struct PathLimits {
  bool is_too_short = false;                // the end token may not follow
  std::int64_t most_copies = 0;             // no phrase may occur more often in a row; 0: no limit
  std::span<const std::int64_t> once = {};  // the tokens of SearchOptions::once that the path may have, once each
};

/// Returns the tokens, ascending, that may not follow a hypothesis as other tokens may. If the rules renormalize, these
/// include the tokens that no output may contain. `path` begins with the begin token. Costs O(length · n-gram size).
std::vector<RestrictedToken> restricted_tokens(const SearchRules& rules, std::span<const std::int64_t> path,
                                               const PathLimits& limits);

/// Returns whether the search needs the log-probability of a restricted token.
bool is_needed(const RestrictedToken& token, const SearchRules& rules);

/// Returns the tokens that may follow a hypothesis: `unrestricted` are the other tokens, `needed` the restricted tokens
/// that are needed, with their log-probabilities. If the rules renormalize, `unrestricted` may lack unlikely tokens.
std::vector<NextToken> apply_restrictions(std::vector<NextToken> unrestricted, std::span<const RestrictedToken> needed,
                                          std::span<const double> log_probabilities, const SearchRules& rules);

}  // namespace edgewise
