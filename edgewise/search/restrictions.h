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
  kPenalized,  // the repetition penalty multiplies the token's log-probability
  kLastResort  // the token follows if no other token may
};

/// A token that a hypothesis restricts.
struct RestrictedToken {
  std::int64_t token;
  Restriction restriction;
};

/// Returns the tokens, ascending, that may not follow a hypothesis as other tokens may. If the rules renormalize, these
/// include the tokens that no output may contain. `path` begins with the begin token. Of the tokens
/// SearchOptions::once, those of `once` are not restricted before the path has them. Costs O(length · n-gram size).
std::vector<RestrictedToken> restricted_tokens(const SearchRules& rules, std::span<const std::int64_t> path,
                                               bool is_too_short, std::span<const std::int64_t> once = {});

/// Returns whether the search needs the log-probability of a restricted token.
bool is_needed(const RestrictedToken& token, const SearchRules& rules);

/// Returns the tokens that may follow a hypothesis: `unrestricted` are the other tokens, `needed` the restricted tokens
/// that are needed, with their log-probabilities. If the rules renormalize, `unrestricted` may lack unlikely tokens.
std::vector<NextToken> apply_restrictions(std::vector<NextToken> unrestricted, std::span<const RestrictedToken> needed,
                                          std::span<const double> log_probabilities, const SearchRules& rules);

}  // namespace edgewise
