// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// A colour in sRGB.
struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  bool operator==(const Colour&) const = default;
};

/// Returns a colour as in CSS: "#1a2b3c".
std::string hex(const Colour& colour);

/// Returns a colour of the scale that all pictures share, from 0 (dark blue) to 1 (light yellow). Lightness in OKLab
/// (Ottosson 2020) is linear in `value`, so that equal steps appear equal, also to colour-blind readers and in grey
/// print. Values outside [0, 1] are clamped; NaN has the colour of 0.
Colour colour_of(double value);

/// Returns `count` colours of the scale, at least 2, evenly spaced and including both ends.
std::vector<Colour> make_colour_table(int count);

/// Number of colours in the palette. Callers take an index modulo kColours.
inline constexpr int kColours = 8;

struct ThemedColour {
  std::string_view on_light;
  std::string_view on_dark;
};

/// The palette. Its colours are easy to distinguish on white and on black, also for colour-blind readers; they follow
/// Okabe and Ito (2008).
inline constexpr std::array<ThemedColour, kColours> kPalette = {{{"#0072b2", "#56b4e9"},
                                                                 {"#d55e00", "#ff8c42"},
                                                                 {"#007a55", "#2fd0a0"},
                                                                 {"#b0447f", "#e79ac5"},
                                                                 {"#8a6d00", "#f0e442"},
                                                                 {"#333333", "#dddddd"},
                                                                 {"#5b3fa8", "#b39ddb"},
                                                                 {"#a31621", "#ff7b82"}}};

/// Returns the CSS of nodes, edges, bars and lines, for a page or an SVG file. Colour i of the palette is class
/// "si" as a stroke and "fi" as a fill. The CSS has no variables, because many SVG converters do not support them.
std::string drawing_style();

}  // namespace edgewise
