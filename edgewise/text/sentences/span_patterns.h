// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "edgewise/base/ascii.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"

// The forms of text that is no language: addresses, names of files, numbers, codes, placeholders of programs and
// symbols. Each function returns the end of the form that begins at `begin`, or `begin` if none does. Takes time in
// proportion to the bytes up to the next white space.

namespace edgewise {

/// The scheme of an address with what is after it: `https://`, `mailto:`.
std::size_t find_scheme_end(std::string_view text, std::size_t begin);

/// `https://…`, `mailto:…`, `www.…`, `example.org/page`, `name@example.org`. Marks at its end belong to the sentence.
std::size_t find_address_end(std::string_view text, std::size_t begin);

/// `report.pdf`, `*.txt`, `/usr/bin`, `~/notes`, `C:\x`, `--option`, `snake_case`, `call()`, `a::b`.
std::size_t find_code_name_end(std::string_view text, std::size_t begin);

/// A number with 5 digits or more, or with two full stops, or beside a sign of a currency: `1.2.3`, `10:30:15`,
/// `2023-12-24`, `1 000 000`, `+49 30 1234567`, `$5`, `20 €`; and letters with digits that are a code, `v2.0`,
/// `AB-1234`, `item4711`, but neither `3rd` nor `1990s`.
std::size_t find_number_end(std::string_view text, std::size_t begin);

/// `{name}`, `{{x}}`, `${x}`, `%{x}`, `%1$s`, `%(name)s`, `$name`, `{%if x%}`, `\n`, `&nbsp;`.
std::size_t find_placeholder_end(std::string_view text, std::size_t begin);

/// `<b>`, `</g>`, `<x id="1"/>`, `<https://…>`.
std::size_t find_tag_end(std::string_view text, std::size_t begin);

/// `@name`, `#topic`, `#123`, `[12]`, `[^note]`.
std::size_t find_mention_end(std::string_view text, std::size_t begin);

/// Emoji and other symbols with their modifiers, characters for private use, and U+FFFC.
std::size_t find_symbol_end(std::string_view text, std::size_t begin);

/// More than 100 characters without white space, of a script that has spaces between words: they are no words.
std::size_t find_long_run_end(std::string_view text, std::size_t begin);

/// Returns whether letters and digits without white space between them are a code: `A4`, `BE0412345678`, `COVID-19`.
bool is_code(std::string_view text);

/// Returns whether the text is the symbol of a unit or the code of a currency, which follow a number: `km/h`, `EUR`.
bool is_unit(std::string_view text);

// For the sources of these functions: bytes and words at offsets of a text.

/// Returns 0 after the end of the text.
inline char byte_or_zero(std::string_view text, std::size_t offset) {
  return offset < text.size() ? text[offset] : '\0';
}

inline bool is_ascii_alphanumeric(char c) { return is_letter_of_ascii(c) || is_digit_of_ascii(c); }

inline bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

inline bool has_word_at(std::string_view text, std::size_t offset) {
  return is_word_point(text_point_at(text, offset).value);
}

inline bool has_word_before(std::string_view text, std::size_t offset) {
  return is_word_point(text_point_before(text, offset).value);
}

/// Returns the offset of the first byte from `begin` on that is not accepted.
template <class Accepts>
std::size_t skip_while(std::string_view text, std::size_t begin, const Accepts& accepts) {
  while (begin < text.size() && accepts(text[begin])) ++begin;
  return begin;
}

}  // namespace edgewise
