// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <regex>
#include <string>

namespace edgewise {

/// How many times text has the regular expression.
inline std::size_t count_matches(const std::string& text, const std::string& pattern) {
  const std::regex found(pattern);
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), found), {}));
}

}  // namespace edgewise
