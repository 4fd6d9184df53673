// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace edgewise {

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;  // its bytes; 0 where the text has none that is well-formed
};

/// The code point that begins at `offset`, which is before the text's end. Well-formed is what the Unicode Standard's
/// table 3-7 says: no overlong form, no surrogate, nothing above U+10FFFF.
CodePoint code_point_at(std::string_view text, std::size_t offset);

/// Offset of the first byte that begins no well-formed code point; none when all of the text is UTF-8.
std::optional<std::size_t> first_bad_utf8(std::string_view text);

/// Appends the UTF-8 form of a code point that is no surrogate and at most U+10FFFF.
void append_code_point(std::string& text, char32_t code_point);

/// The longest prefix of at most `size` bytes that does not end inside a code point.
std::string_view utf8_prefix(std::string_view text, std::size_t size);

/// For error texts: control characters and bytes that are not UTF-8 as \xHH, in quotes, at most 40 bytes of it.
std::string quote(std::string_view text);

/// Calls `visit(CodePoint, std::size_t offset)` for each code point of well-formed UTF-8.
template <class Visit>
void for_each_code_point(std::string_view text, Visit&& visit) {
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = code_point_at(text, offset);
    visit(point, offset);
    offset += point.size > 0 ? point.size : 1;
  }
}

}  // namespace edgewise
