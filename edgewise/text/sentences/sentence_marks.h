// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "edgewise/base/utf8.h"

// The characters around the end of a sentence.

namespace edgewise {

/// Returns the code point at `offset`; U+FFFD for a byte that is not UTF-8, and a value of 0 and a size of 0 at the end
/// of the text.
CodePoint text_point_at(std::string_view text, std::size_t offset);

/// Returns the code point that ends at `offset`, as text_point_at does; a size of 0 at the beginning of the text.
CodePoint text_point_before(std::string_view text, std::size_t offset);

/// Returns whether the code point ends a line: LF, VT, FF, CR, NEL and Unicode's separators of lines and paragraphs.
bool is_line_break(char32_t code_point);

/// Returns whether the code point may end a sentence: `.`, `!`, `?`, `…` and their counterparts in other scripts.
bool is_stop_mark(char32_t code_point);

/// Returns whether the stop mark ends a sentence without white space after the mark, as Chinese and Japanese stops do.
bool is_wide_stop_mark(char32_t code_point);

/// Returns whether the stop mark can be nothing else than the end of a sentence or exclamation: neither `.` nor `…`.
bool is_clear_stop_mark(char32_t code_point);

/// Returns whether the code point is a bracket or quote that closes in every language: `)`, `」`, `”`.
bool is_closing_mark(char32_t code_point);

/// Returns whether the code point is a quote that opens in some languages and closes in other ones, `"`, `“` or `«`, or
/// a mark of bold text, `*` or `_`.
bool is_two_way_quote(char32_t code_point);

/// Returns whether the code point may stand before the first word of a sentence: an opening quote or bracket, `¿`, `¡`,
/// a dash, a bullet.
bool is_opening_mark(char32_t code_point);

/// Returns whether the mark belongs to the word in front of it, so that most languages write no space between: marks of
/// a sentence's end, closing brackets and quotes, and `,;:`.
bool attaches_to_word(char32_t code_point);

/// Returns whether the code point is one of 0 to 9.
bool is_ascii_digit(char32_t code_point);

/// Returns whether the code point is an emoji or another symbol that is no sign of currency, mathematics or accents.
bool is_emoji(char32_t code_point);

/// Returns whether the code point is a Chinese character or a letter of Japanese kana.
bool is_wide_letter(char32_t code_point);

}  // namespace edgewise
