// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace edgewise {

/// Colours that can be told from each other, on white and on black. Behind the last they begin anew.
inline constexpr int kColours = 8;

struct ThemedColour {
  std::string_view on_light;
  std::string_view on_dark;
};

/// After Okabe and Ito (2008), whose colours the colour-blind can tell apart too.
inline constexpr std::array<ThemedColour, kColours> kPalette = {{{"#0072b2", "#56b4e9"},
                                                                 {"#d55e00", "#ff8c42"},
                                                                 {"#007a55", "#2fd0a0"},
                                                                 {"#b0447f", "#e79ac5"},
                                                                 {"#8a6d00", "#f0e442"},
                                                                 {"#333333", "#dddddd"},
                                                                 {"#5b3fa8", "#b39ddb"},
                                                                 {"#a31621", "#ff7b82"}}};

/// The style of drawings of nodes, edges, bars and lines, for a page and for an SVG of its own: colour i of the palette
/// is class "si" as a stroke and "fi" as a fill. Without variables: programs that turn SVG into print know little CSS.
std::string drawing_style();

}  // namespace edgewise
