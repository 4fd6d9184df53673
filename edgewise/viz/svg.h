// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace edgewise {

/// What is drawn on `width` × `height`. Texts are in ink, thin lines of class "grid" faint, on a light ground and on a
/// dark one.
struct SvgPicture {
  double width = 0;
  double height = 0;
  std::string title;  // what a screen reader says of it
  std::string body;   // elements
};

/// To be set into a page of page.h, as wide as there is room for.
std::string svg_for_page(const SvgPicture& picture);

/// A file of its own.
std::string svg_file(const SvgPicture& picture);

/// Text at a point of its baseline. `attributes` stand in the element as they are: `text-anchor="end"`. The text may be
/// anything.
std::string svg_text(double x, double y, std::string_view text, std::string_view attributes = "");

/// A token as people can see it, whatever bytes it has: cut behind `most` characters, control characters as their
/// pictures (␊), the ▁ of pieces as _, a mark that would sit on the letter before it on a circle.
std::string shown_token(std::string_view token, std::size_t most = 16);

/// About how wide a text is, in letters' sizes.
double text_width(std::string_view text);

/// A legend of the scale of colour_scale.h with its upper left corner at a point: from 0 to 1.
std::string colour_legend(double x, double y, std::string_view what);
inline constexpr double kLegendWidth = 180;
inline constexpr double kLegendHeight = 34;

}  // namespace edgewise
