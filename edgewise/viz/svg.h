// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace edgewise {

/// A drawing of `width` × `height` pixels, which adapts to light and dark backgrounds.
struct SvgPicture {
  double width = 0;
  double height = 0;
  std::string title;  // read by screen readers
  std::string body;   // SVG elements
};

/// Returns an SVG element for a page of page.h, which scales the picture down to the width of its column.
std::string svg_for_page(const SvgPicture& picture);

/// Returns an element for a page of page.h that keeps the width of the picture and scrolls.
std::string svg_at_full_size(const SvgPicture& picture);

/// Returns the text of a standalone SVG file.
std::string svg_file(const SvgPicture& picture);

/// Arranges pictures in rows of `columns`. Each row is as high, and each column as wide, as its largest picture.
SvgPicture arrange_pictures(std::string title, std::span<const SvgPicture> pictures, std::size_t columns = 1);

/// Returns a text element whose baseline begins at (x, y). The function makes `text` printable (label_html), but
/// copies `attributes`, for example `text-anchor="end"`.
std::string svg_text(double x, double y, std::string_view text, std::string_view attributes = "");

/// Returns a legend of the colours of palette.h, from 0 to 1. (x, y) is its upper left corner.
std::string colour_legend(double x, double y, std::string_view title);
inline constexpr double kLegendWidth = 180;
inline constexpr double kLegendHeight = 34;

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
