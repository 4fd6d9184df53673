// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace edgewise::kernels {

/// The tokens of a batch, grouped by their rows of a table; pointers into TokenGroups or into a copy of it on a device.
struct TokenGroupsView {
  const std::int64_t* rows;    // [G], the row of each group
  const std::int32_t* begin;   // [G + 1], the first element of each group in `tokens`
  const std::int32_t* tokens;  // [T], the numbers of the tokens, ascending in each group
  std::int64_t num_groups;     // G
};

struct TokenGroups {
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> begin;
  std::vector<std::int32_t> tokens;

  TokenGroupsView view() const { return {rows.data(), begin.data(), tokens.data(), std::ssize(rows)}; }
};

/// Groups tokens 0, 1, … by their rows of a table: row_of_token[t] is the row of token t. Takes O(T log T) time.
inline TokenGroups group_tokens(std::span<const std::int64_t> row_of_token) {
  TokenGroups groups{.rows = {}, .begin = {}, .tokens = std::vector<std::int32_t>(row_of_token.size())};
  const auto row = [&](std::int32_t token) { return row_of_token[static_cast<std::size_t>(token)]; };
  std::iota(groups.tokens.begin(), groups.tokens.end(), 0);
  std::stable_sort(groups.tokens.begin(), groups.tokens.end(),
                   [&](std::int32_t a, std::int32_t b) { return row(a) < row(b); });
  for (std::size_t i = 0; i < groups.tokens.size(); ++i) {
    if (i > 0 && row(groups.tokens[i]) == groups.rows.back()) continue;
    groups.rows.push_back(row(groups.tokens[i]));
    groups.begin.push_back(static_cast<std::int32_t>(i));
  }
  groups.begin.push_back(static_cast<std::int32_t>(groups.tokens.size()));
  return groups;
}

}  // namespace edgewise::kernels
