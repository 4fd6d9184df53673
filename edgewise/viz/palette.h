// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace edgewise {

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
