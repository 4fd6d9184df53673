// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace edgewise {

/// The word behind a stop mark, without quotes, brackets and dashes before it.
struct NextWord {
  std::size_t begin = 0;         // the end of the text if there is no word
  std::string_view text;         // letters, digits and marks until an apostrophe, at most 32; empty for a symbol
  char32_t first = 0;            // code point
  bool is_behind_space = false;  // whether white space separates the word from the stop
  bool is_lowercase = false;     // whether it begins with a lower-case letter and has no capital: not `iPhone`
  bool has_apostrophe = false;   // whether an apostrophe is behind `text`: French `L'`
  bool is_initial = false;       // whether it is one letter and a full stop
};

/// Finds the word that begins behind `offset`.
NextWord find_next_word(std::string_view text, std::size_t offset);

}  // namespace edgewise
