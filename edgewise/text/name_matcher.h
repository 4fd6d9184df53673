// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// The occurrence of a token's name in a text.
struct NameMatch {
  std::size_t begin = 0;
  std::size_t size = 0;
  std::int64_t token = 0;
};

/// Finds the names of tokens, such as `</s>`, in a text.
class NameMatcher {
 public:
  /// Adds a name, which is not empty.
  void add(std::string_view name, std::int64_t token);

  /// Returns the first match at or after `begin`; at one place the longest. Costs O(bytes · names that begin with the
  /// same byte).
  std::optional<NameMatch> find(std::string_view text, std::size_t begin) const;

 private:
  struct Name {
    std::string text;
    std::int64_t token;
  };

  std::array<std::vector<Name>, 256> by_first_byte_;  // longest first
};

}  // namespace edgewise
