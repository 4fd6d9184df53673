// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

// Classes and case of code points, of the Unicode version that ICU has. Texts are UTF-8.

namespace edgewise {

/// White space as Python's str.split has it: the separators, and the control characters that part lines and fields.
bool is_space(char32_t code_point);

bool is_number(char32_t code_point);       // general category N*
bool is_punctuation(char32_t code_point);  // P*
bool is_symbol(char32_t code_point);       // S*
bool is_letter(char32_t code_point);       // L*
bool is_mark(char32_t code_point);         // M*
bool is_small(char32_t code_point);        // Ll

// One code point for one: what has no single counterpart stays.
char32_t small_letter(char32_t code_point);
char32_t capital_letter(char32_t code_point);  // as at the begin of a word: `ǆ` becomes `ǅ`

/// All of Unicode's mappings in the root locale, those that look at neighbours too: `ΟΔΟΣ` becomes `οδος` with the
/// final sigma, `İ` becomes `i` and a dot above. Equals Python's str.lower.
std::string lower_case(std::string_view text);

/// The words between runs of white space; they point into `text`.
std::vector<std::string_view> split_words(std::string_view text);

/// Without white space at its end.
std::string_view without_trailing_space(std::string_view text);

}  // namespace edgewise
