// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Calls `visit(CodePoint, std::size_t offset)` for each code point, and for each byte that is part of none with a
/// CodePoint of size 0.
template <class Visit>
void for_each_code_point(std::string_view text, Visit&& visit) {
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = code_point_at(text, offset);
    visit(point, offset);
    offset += point.size > 0 ? point.size : 1;
  }
}

/// Code points, and bytes that are part of none.
std::size_t count_code_points(std::string_view text);

/// The longest prefix of at most `size` bytes that does not end inside a code point.
std::string_view utf8_prefix(std::string_view text, std::size_t size);

/// Offset of the first byte that is not part of well-formed UTF-8.
std::optional<std::size_t> find_bad_utf8(std::string_view text);

/// Whether a character below U+0020 or from U+007F to U+009F is in it, or a byte that is not UTF-8.
bool has_control_character(std::string_view text);

/// Each byte that find_bad_utf8 would stop at becomes U+FFFD.
std::string with_bad_utf8_replaced(std::string_view text);

/// Appends a code point below U+110000 that is no surrogate.
void append_utf8(std::string& text, std::uint32_t code_point);

/// For error texts: in double quotes, with what would garble a terminal as escapes, and cut after about 60 bytes.
std::string in_quotes(std::string_view text);

}  // namespace edgewise
