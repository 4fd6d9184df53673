// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

// Classes and case of code points, in the Unicode version of ICU. Texts are UTF-8.

namespace edgewise {

/// Returns whether Python's str.split treats the code point as white space: separators, and the control characters
/// between lines and fields.
bool is_space(char32_t code_point);

/// Returns whether regular expressions match the code point with `\s`: Unicode's property White_Space.
bool is_white_space(char32_t code_point);

/// Returns whether regular expressions match the code point with `\w`: letters, marks, decimal digits, connectors such
/// as `_`, and joiners (Unicode Technical Standard 18, annex C).
bool is_regex_word(char32_t code_point);

bool is_number(char32_t code_point);             // general category N*
bool is_punctuation(char32_t code_point);        // P*
bool is_symbol(char32_t code_point);             // S*
bool is_letter(char32_t code_point);             // L*
bool is_mark(char32_t code_point);               // M*
bool is_control_or_format(char32_t code_point);  // Cc, Cf
bool is_lowercase(char32_t code_point);          // Ll

/// Returns whether the code point belongs to words and numbers.
inline bool is_word_point(char32_t point) { return is_letter(point) || is_number(point) || is_mark(point); }

/// Returns whether the code point is of a script that is written without spaces between words: Han, Thai and others.
bool has_letters_without_spaces(char32_t code_point);

/// Returns the number of the script that the code point belongs to, or kNoScript for characters of several scripts.
int script_of(char32_t code_point);
inline constexpr int kNoScript = -1;

/// Returns the English name of a script: "Cyrillic".
std::string_view script_name(int script);

/// Returns whether the code point fills two columns of a terminal: Chinese, Japanese and Korean characters and marks.
bool is_wide(char32_t code_point);

// Map a code point to a single code point; return it unchanged if its counterpart is a sequence.
char32_t lowercase_letter(char32_t code_point);
char32_t titlecase_letter(char32_t code_point);  // title case: `ǆ` becomes `ǅ`

/// Applies Unicode's full lower-case mappings in the root locale, also those that depend on neighbours: `ΟΔΟΣ` becomes
/// `οδος` with a final sigma, `İ` becomes `i` and a dot above. Equals Python's str.lower.
std::string lower_case(std::string_view text);

/// Applies Unicode's full upper-case mappings in the root locale: `ß` becomes `SS`. Equals Python's str.upper.
std::string upper_case(std::string_view text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

/// Returns the text in a normal form of Unicode Standard Annex 15.
std::string to_normal_form(std::string_view text, NormalForm form);

/// Splits at runs of white space. Returns views of `text`.
std::vector<std::string_view> split_words(std::string_view text);

// Return the text without white space at its beginning, its end or both.
std::string_view strip_leading_space(std::string_view text);
std::string_view strip_trailing_space(std::string_view text);
std::string_view strip_space(std::string_view text);

}  // namespace edgewise
