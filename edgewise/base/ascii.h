// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

// The letters A to Z and the white space of formats in ASCII, such as HTML and HTTP. Other bytes, those of UTF-8 among
// them, are unchanged.

namespace edgewise {

inline char lower_ascii(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

inline char upper_ascii(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

inline bool is_letter_of_ascii(char letter) { return lower_ascii(letter) >= 'a' && lower_ascii(letter) <= 'z'; }
inline bool is_digit_of_ascii(char letter) { return letter >= '0' && letter <= '9'; }
inline bool is_alphanumeric_of_ascii(char letter) { return is_letter_of_ascii(letter) || is_digit_of_ascii(letter); }

inline std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char letter) { return lower_ascii(letter); });
  return lower;
}

inline std::string upper_ascii(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](char letter) { return upper_ascii(letter); });
  return upper;
}

inline bool equal_without_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower_ascii(x) == lower_ascii(y); });
}

/// Returns the text without spaces and tabs at its ends.
inline std::string_view trim_ascii(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

/// Returns the parts of a text between characters of `separators`, without empty parts.
inline std::vector<std::string> split_ascii(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  for (std::size_t begin = text.find_first_not_of(separators); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return parts;
}

}  // namespace edgewise
