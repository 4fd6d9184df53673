// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/colour_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace edgewise {
namespace {

constexpr double kDarkest = 0.26;
constexpr double kLightest = 0.94;

/// What the screen's linear light is to be, as its eight bits.
std::uint8_t encoded(double linear) {
  const double light = std::clamp(linear, 0.0, 1.0);
  const double value = light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * value));
}

/// From OKLab, whose distances are those that people see, to sRGB.
Colour screen_colour(double lightness, double a, double b) {
  const auto cubed = [](double x) { return x * x * x; };
  const double l = cubed(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cubed(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cubed(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

}  // namespace

std::string hex(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

// Hue goes from blue over green to yellow; chroma is as much as screens show all the way.
Colour colour_of(double share) {
  const double t = std::clamp(share, 0.0, 1.0);
  const double hue = (288 - 184 * t) * std::numbers::pi / 180;
  const double chroma = 0.086 + 0.054 * (2 * t - 1) * (2 * t - 1);
  return screen_colour(kDarkest + (kLightest - kDarkest) * t, chroma * std::cos(hue), chroma * std::sin(hue));
}

Colour ink_on(double share) { return share < 0.45 ? Colour{255, 255, 255} : Colour{0, 0, 0}; }

std::vector<Colour> colour_table(int count) {
  std::vector<Colour> colours;
  colours.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) colours.push_back(colour_of(static_cast<double>(i) / (count - 1)));
  return colours;
}

}  // namespace edgewise
