// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace edgewise
