// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/restrictions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace edgewise {
namespace {

/// Returns how many of the last tokens equal the token `period` before them.
std::int64_t count_equal(std::span<const std::int64_t> tokens, std::int64_t period) {
  std::int64_t count = 0;
  const std::int64_t most = std::ssize(tokens) - period;
  while (count < most) {
    const auto at = static_cast<std::size_t>(std::ssize(tokens) - 1 - count);
    if (tokens[at] != tokens[at - static_cast<std::size_t>(period)]) break;
    ++count;
  }
  return count;
}

/// Returns how many copies of a phrase end a text whose last `equal` tokens equal those a phrase before them.
std::int64_t copies(std::int64_t equal, std::int64_t period) { return 1 + equal / period; }

std::int64_t longest_period(std::span<const std::int64_t> tokens) {
  return std::min(kLongestPhrase, std::ssize(tokens) - 1);
}

std::int64_t most_frequent(std::span<const std::int64_t> tokens) {
  std::map<std::int64_t, std::int64_t> counts;
  std::int64_t most = 1;
  for (const std::int64_t token : tokens) most = std::max(most, ++counts[token]);
  return most;
}

std::int64_t most_copies(std::span<const std::int64_t> tokens) {
  std::int64_t most = 1;
  for (std::size_t size = 2; size <= tokens.size(); ++size) {
    const auto begin = tokens.first(size);
    for (std::int64_t period = 1; period <= longest_period(begin); ++period) {
      most = std::max(most, copies(count_equal(begin, period), period));
    }
  }
  return most;
}

/// Calls `visit` with the tokens that would complete an n-gram of `size` tokens that `produced` already contains.
template <class Visit>
void visit_repeating_tokens(std::span<const std::int64_t> produced, std::int64_t size, const Visit& visit) {
  const auto context_size = static_cast<std::size_t>(size - 1);
  if (produced.size() <= context_size) return;
  const auto context = produced.last(context_size);
  for (std::size_t begin = 0; begin + context_size < produced.size(); ++begin) {
    if (std::ranges::equal(produced.subspan(begin, context_size), context)) visit(produced[begin + context_size]);
  }
}

bool may_follow(const RestrictedToken& token) {
  return token.restriction == Restriction::kPermitted || token.restriction == Restriction::kPenalized;
}

/// Returns the log-probability of a token that may follow.
double restrict(double log_probability, const RestrictedToken& token, double repetition_penalty) {
  return token.restriction == Restriction::kPenalized ? log_probability * repetition_penalty : log_probability;
}

/// Returns the logarithm of the probability that all tokens have together after restrictions: 1, and what each
/// restricted token gains or loses. The sum over `next`, which may lack unlikely tokens, is a lower bound where the
/// restricted tokens have nearly all probability, and rounding would leave little of the difference.
double log_normalizer(std::span<const NextToken> next, std::span<const RestrictedToken> needed,
                      std::span<const double> log_probabilities, double repetition_penalty) {
  double difference = 1;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    difference -= std::exp(log_probabilities[i]);
    if (may_follow(needed[i])) difference += std::exp(restrict(log_probabilities[i], needed[i], repetition_penalty));
  }
  double sum = std::numeric_limits<double>::min();
  for (const NextToken& token : next) sum += std::exp(token.log_probability);
  return std::log(std::max(difference, sum));
}

}  // namespace

CopyLimits copy_limits(std::span<const std::int64_t> input) {
  constexpr std::int64_t kMoreTokens = 5;
  constexpr std::int64_t kMorePhrases = 2;
  const std::int64_t most = most_frequent(input);
  return {.token = most + kMoreTokens, .phrase = most + kMorePhrases, .copying = most_copies(input)};
}

bool ends_with_loop(std::span<const std::int64_t> tokens, const CopyLimits& limits) {
  for (std::int64_t period = 1; period <= longest_period(tokens); ++period) {
    const std::int64_t limit = period == 1 ? limits.token : limits.phrase;
    if (copies(count_equal(tokens, period), period) > limit) return true;
  }
  return false;
}

std::vector<std::int64_t> tokens_that_copy(std::span<const std::int64_t> tokens, std::int64_t most) {
  std::vector<std::int64_t> found;
  for (std::int64_t period = 1; period <= std::min(kLongestPhrase, std::ssize(tokens)); ++period) {
    const std::int64_t equal = count_equal(tokens, period) + 1;  // with the token that continues the phrase
    if (copies(equal, period) > most) found.push_back(tokens[static_cast<std::size_t>(std::ssize(tokens) - period)]);
  }
  return found;
}

std::vector<RestrictedToken> restricted_tokens(const SearchRules& rules, std::span<const std::int64_t> path,
                                               const PathLimits& limits) {
  const SearchOptions& options = rules.options();
  const auto produced = path.subspan(rules.conventions().counts_begin ? 0 : 1);
  const auto may_repeat = [&](std::int64_t token) {
    return token == options.end_token && rules.conventions().repeats_end;
  };
  std::map<std::int64_t, Restriction> restrictions;  // the first of several restrictions of a token has effect
  const auto forbid = [&](std::int64_t token) {
    const bool is_last_resort = token == options.end_token && !rules.conventions().drops_stuck;
    restrictions.try_emplace(token, is_last_resort ? Restriction::kLastResort : Restriction::kForbidden);
  };
  if (options.no_repeat_ngram > 0) {
    visit_repeating_tokens(produced, options.no_repeat_ngram, [&](std::int64_t token) {
      if (!may_repeat(token)) forbid(token);
    });
  }
  if (limits.most_copies > 0) std::ranges::for_each(tokens_that_copy(produced, limits.most_copies), forbid);
  if (limits.is_too_short) forbid(options.end_token);
  for (const std::int64_t token : limits.once) {
    const bool is_first = std::ranges::count(path.subspan(1), token) == 0;
    if (is_first && std::ranges::count(rules.once(), token) > 0)
      restrictions.try_emplace(token, Restriction::kPermitted);
  }
  if (rules.conventions().renormalizes) std::ranges::for_each(rules.forbidden(), forbid);
  if (options.repetition_penalty != 1) {
    for (const std::int64_t token : produced) {
      if (!may_repeat(token)) restrictions.try_emplace(token, Restriction::kPenalized);
    }
  }
  std::vector<RestrictedToken> tokens;
  tokens.reserve(restrictions.size());
  for (const auto& [token, restriction] : restrictions) tokens.push_back({token, restriction});
  return tokens;
}

bool is_needed(const RestrictedToken& token, const SearchRules& rules) {
  if (rules.conventions().renormalizes || token.restriction == Restriction::kPermitted) return true;
  return token.restriction != Restriction::kForbidden && rules.allowed()[token.token] != 0;
}

std::vector<NextToken> apply_restrictions(std::vector<NextToken> unrestricted, std::span<const RestrictedToken> needed,
                                          std::span<const double> log_probabilities, const SearchRules& rules) {
  const double penalty = rules.options().repetition_penalty;
  std::vector<NextToken> next = std::move(unrestricted);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (may_follow(needed[i])) {
      next.push_back({needed[i].token, restrict(log_probabilities[i], needed[i], penalty)});
    }
  }
  if (rules.conventions().drops_stuck) {
    std::erase_if(next, [](const NextToken& token) { return std::isinf(token.log_probability); });
  }
  if (rules.conventions().renormalizes) {
    const double normalizer = log_normalizer(next, needed, log_probabilities, penalty);
    for (NextToken& token : next) token.log_probability = std::min(token.log_probability - normalizer, 0.0);
  }
  if (!next.empty()) return next;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i].restriction == Restriction::kLastResort) next.push_back({needed[i].token, log_probabilities[i]});
  }
  return next;
}

}  // namespace edgewise
