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

/// Returns a legend of the colours of colour_scale.h, from 0 to 1. (x, y) is its upper left corner.
std::string colour_legend(double x, double y, std::string_view title);
inline constexpr double kLegendWidth = 180;
inline constexpr double kLegendHeight = 34;

}  // namespace edgewise
