// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/byte_range.h"

// Which parts of a text are language, and which ones a translation must keep as they are.

namespace edgewise {

/// Stands in a text for something that is no text, such as an image of a document: U+FFFC.
inline constexpr std::string_view kObjectCharacter = "\uFFFC";

/// A part of a text that a translation has once, byte for byte.
struct ProtectedSpan {
  ByteRange bytes;
  std::optional<std::size_t> partner = {};  // index of the other mark of a pair around words, such as `<b>` and `</b>`

  friend bool operator==(const ProtectedSpan&, const ProtectedSpan&) = default;
};

/// Returns the spans of a text in UTF-8 in ascending order, without overlap: addresses, names of files, placeholders of
/// programs, tags, code in backticks, version numbers and other long numbers, prices with a sign, codes, names with `@`
/// and `#`, emoji, marks of Markdown around words, and U+FFFC. A number within a formula, `H\uFFFCO`, belongs to its
/// span. Costs O(bytes).
std::vector<ProtectedSpan> find_protected_spans(std::string_view text);

/// Returns whether a text has a word. Numbers, codes of capitals and digits (`A4`), protected spans and marks are no
/// words, and neither are the symbol of a unit and the code of a currency in a text with a number: `5 km`, `EUR 20`.
/// Other letters are a word, also a single one and those after a number, as in `3rd`. So is a byte that is not UTF-8.
bool needs_translation(std::string_view text);
bool needs_translation(std::string_view text, std::span<const ProtectedSpan> spans);  // with the spans of the text

/// Removes the characters that show nothing within words: soft hyphens, spaces and joiners without width, marks of the
/// writing direction, and variation selectors. A joiner stays after a letter of a script that needs it, such as the
/// Arabic and the Indian ones.
std::string remove_invisible(std::string_view text);

}  // namespace edgewise
