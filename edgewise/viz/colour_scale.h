// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgewise {

/// As a screen has it.
struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  bool operator==(const Colour&) const = default;
};

/// "#1a2b3c".
std::string hex(const Colour& colour);

/// The one scale of all pictures, from 0 (dark blue) to 1 (light yellow), whatever the numbers of a picture are: the
/// same number is the same colour everywhere. Its lightness in OKLab (Ottosson 2020) grows evenly, so that equal steps
/// look equal, to the colour-blind and in grey print too. Numbers outside are as the nearest end.
Colour colour_of(double share);

/// Black or white: what can be read on that colour.
Colour ink_on(double share);

/// `count` of its colours, evenly spaced, both ends among them; at least 2.
std::vector<Colour> colour_table(int count);

}  // namespace edgewise
