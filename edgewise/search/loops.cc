// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/loops.h"

#include <algorithm>
#include <map>

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

}  // namespace edgewise
