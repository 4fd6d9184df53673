// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "edgewise/text/sentences/abbreviation_rules.h"

// Decides whether a stop mark ends a sentence. All functions look at a bounded number of characters before the mark,
// and at the marks and the white space after it.

namespace edgewise {

/// The word after a stop mark, without quotes, brackets and dashes before it.
struct NextWord {
  std::size_t begin = 0;        // the end of the text if there is no word
  std::string_view text;        // letters, digits and marks until an apostrophe, at most 32; empty for a symbol
  char32_t first = 0;           // code point
  bool is_after_space = false;  // whether white space separates the word from the stop
  bool is_lowercase = false;    // whether it begins with a lower-case letter and has no capital: not `iPhone`
  bool has_apostrophe = false;  // whether an apostrophe is after `text`: French `L'`
  bool is_initial = false;      // whether it is one letter and a full stop
};

/// Finds the word that begins after `offset`.
NextWord find_next_word(std::string_view text, std::size_t offset);

/// White space from the offset that read_gap is given.
struct Gap {
  std::size_t end = 0;
  int line_breaks = 0;  // CR LF is one
  bool has_tab = false;
};

Gap read_gap(std::string_view text, std::size_t begin);

/// Returns the end of the mark of a list item and of the white space after the mark at `begin`, which begins a line;
/// `begin` if there is none.
std::size_t skip_list_mark(std::string_view text, std::size_t begin);

/// Stop marks and the closing quotes and brackets after them: `…?!)` or `. »`.
struct Stop {
  std::size_t begin = 0;
  std::size_t end = 0;
  int num_points = 0;        // full stops
  bool is_ellipsis = false;  // whether it has several full stops, or `…`
  bool is_clear = false;     // whether it has a mark other than `.` and `…`
  bool is_wide = false;      // whether it has a mark that needs no white space after it
  bool has_closing = false;  // whether it has a closing quote or bracket
};

/// Reads the stop that begins at `begin`. A quote `"` after white space belongs to the stop if `is_quote_open`.
Stop read_stop(std::string_view text, std::size_t begin, bool is_quote_open);

/// The sentence before a stop.
struct SentenceContext {
  std::size_t begin = 0;
  std::optional<std::size_t> first_word = {};  // offset of the first letter or digit
  bool begins_lowercase = false;
  bool is_quote_open = false;  // whether it has an odd number of `"`
};

/// Returns whether the stop ends the sentence, which has a letter or a digit.
bool is_sentence_end(std::string_view text, const Stop& stop, const SentenceContext& sentence,
                     const AbbreviationRules& rules);

}  // namespace edgewise
