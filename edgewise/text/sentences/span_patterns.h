// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

// Patterns of the spans that protected_spans.cc finds: addresses, file names, numbers, codes, placeholders and symbols.
// A function find_…_end() returns the end of the pattern that begins at `begin`, or `begin` if there is none. Only
// numbers, tags and placeholders may contain white space. Sources: span_addresses.cc, span_marks.cc, span_numbers.cc.

namespace edgewise {

/// The scheme of an address with what is after it: `https://`, `mailto:`.
std::size_t find_scheme_end(std::string_view text, std::size_t begin);

/// `https://…`, `mailto:…`, `www.…`, `example.org/page`, `name@example.org`. Marks at its end belong to the sentence.
std::size_t find_address_end(std::string_view text, std::size_t begin);

/// `report.pdf`, `*.txt`, `/usr/bin`, `~/notes`, `C:\x`, `--option`, `snake_case`, `call()`, `a::b`.
std::size_t find_code_name_end(std::string_view text, std::size_t begin);

/// A number with 5 digits or more, or with two full stops or two colons, or beside a sign of a currency: `1.2.3`,
/// `10:30:15`, `2023-12-24`, `1 000 000`, `+49 30 1234567`, `$5`, `20 €`; and letters with digits that are a code,
/// `v2.0`, `AB-1234`, `item4711`, but neither `3rd` nor `1990s`.
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

// Kinds of words.

/// Returns whether letters and digits without white space between them are a code: `A4`, `BE0412345678`, `COVID-19`.
bool is_code(std::string_view text);

/// Returns whether the text is the symbol of a unit or the code of a currency, which follow a number: `km/h`, `EUR`.
bool is_unit(std::string_view text);

}  // namespace edgewise
