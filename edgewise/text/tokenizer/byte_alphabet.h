// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

// The alphabet of byte-level tokens (Radford et al. 2019): each byte is one visible character. Printable bytes of
// Latin-1 are themselves, and the others, in their order, U+0100, U+0101, …: a space is `Ġ`.

namespace edgewise {

/// Returns the characters of the bytes.
std::string write_bytes(std::string_view bytes);

/// Returns the bytes of the characters; nothing if a character is outside of the alphabet.
std::optional<std::string> read_bytes(std::string_view characters);

}  // namespace edgewise
