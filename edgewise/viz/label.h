// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace edgewise {

/// Returns a token of any bytes as displayable text: ␊ for a line feed, _ for SentencePiece's ▁, U+FFFD for invalid
/// bytes and invisible characters, a dotted circle before a leading combining mark, and "…" for all text after
/// `max_characters`. The joiners U+200C and U+200D stay between emoji and between letters of scripts that they shape,
/// such as Arabic and Devanagari.
std::string printable_token(std::string_view token, std::size_t max_characters = 16);

/// Estimates the width of a text, in multiples of its font size.
double text_width(std::string_view text);

/// Estimates the width in pixels of a text in the 11-pixel font of pictures.
double label_width(std::string_view text);

/// Returns printable text, cut to about `width` pixels.
std::string fit_label(std::string_view text, double width);

/// Returns printable text of at most 400 characters, escaped for HTML text and attributes.
std::string label_html(std::string_view text);

}  // namespace edgewise
