// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
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

/// Returns the colour of text on colour_of(value): white on dark colours, black on light colours.
Colour text_colour_on(double value);

/// Returns `count` colours of the scale, at least 2, evenly spaced and including both ends.
std::vector<Colour> make_colour_table(int count);

}  // namespace edgewise
