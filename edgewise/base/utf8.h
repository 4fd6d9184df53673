// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace edgewise {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;  // stands for bytes that are not UTF-8

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;  // bytes; 0 if no well-formed code point begins here
};

/// Returns the code point that begins at `offset`, which must be before the text's end. Well-formed bytes follow table
/// 3-7 of the Unicode Standard: no overlong form, no surrogate, nothing above U+10FFFF.
CodePoint code_point_at(std::string_view text, std::size_t offset);

/// Calls `visit(CodePoint, std::size_t offset)` for each code point, and with a CodePoint of size 0 for each byte that
/// belongs to no code point.
void for_each_code_point(std::string_view text, auto&& visit) {
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = code_point_at(text, offset);
    visit(point, offset);
    offset += point.size > 0 ? point.size : 1;
  }
}

/// Counts the code points, and the bytes that belong to no code point.
std::size_t count_code_points(std::string_view text);

/// Returns the longest prefix of at most `size` bytes that does not end inside a code point.
std::string_view utf8_prefix(std::string_view text, std::size_t size);

/// Returns the offset of the first byte that is not part of well-formed UTF-8.
std::optional<std::size_t> find_bad_utf8(std::string_view text);

/// Returns whether all bytes from `offset` on are the beginning of one well-formed code point whose last bytes are
/// missing, as at the end of text that was cut.
bool is_cut_code_point(std::string_view text, std::size_t offset);

/// Returns whether a reader sees nothing of the code point, though it may change the text around it: controls of the
/// writing direction, separators of lines, joiners and spaces without width, soft hyphens, tags, and fillers. Control
/// characters below U+00A0 and variation selectors do not count.
bool is_invisible(char32_t code_point);

/// Whether the text has a character below U+0020 or from U+007F to U+009F, or a byte outside well-formed UTF-8.
bool has_control_character(std::string_view text);

/// Replaces each byte that is not part of well-formed UTF-8 by U+FFFD.
std::string replace_bad_utf8(std::string_view text);

/// Appends a code point, which must be below U+110000 and no surrogate.
void append_utf8(std::string& text, std::uint32_t code_point);

// These functions put text of a user (names, values, tokens, paths) into messages. They escape characters that could
// control a terminal or hide from a reader: control characters, bytes that are not UTF-8, and invisible characters.

/// Quotes text for an error. Cuts it after about 60 bytes: `"aaa…" (1000000 bytes)`.
std::string quote(std::string_view text);

/// Returns `text` if it has at most 60 bytes, all of them letters of ASCII, digits or one of `+-._`; otherwise
/// quote(text).
std::string quote_unless_plain(std::string_view text);

/// Escapes a message of several words and paths for the terminal, without quotes around it. Cuts it after about
/// `max_size` bytes.
std::string printable(std::string_view text, std::size_t max_size = 4000);

}  // namespace edgewise
