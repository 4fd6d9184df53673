// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace edgewise {

/// Offset of the first byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no
/// surrogates, nothing above U+10FFFF).
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
