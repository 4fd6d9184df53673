// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/search/extension.h"
#include "edgewise/search/rules.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

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
