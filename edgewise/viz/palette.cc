// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "edgewise/base/error.h"
#include "edgewise/viz/page.h"

namespace edgewise {
namespace {

constexpr double kDarkest = 0.26;   // lightness of colour_of(0)
constexpr double kLightest = 0.94;  // lightness of colour_of(1)

/// Converts linear light to an 8-bit sRGB value.
std::uint8_t encode_srgb(double linear) {
  const double light = std::clamp(linear, 0.0, 1.0);
  const double srgb = light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * srgb));
}

/// Converts a colour from OKLab to sRGB.
Colour convert_oklab(double lightness, double a, double b) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {encode_srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          encode_srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          encode_srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

std::string make_colour_rules(std::string_view ThemedColour::*theme) {
  std::string rules;
  for (std::size_t i = 0; i < kPalette.size(); ++i) {
    rules += fmt::format(".s{0} {{ stroke: {1}; }} .f{0} {{ fill: {1}; }}\n", i, kPalette[i].*theme);
  }
  return rules;
}

}  // namespace

std::string hex(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

/// The hue goes from blue over green to yellow. The chroma stays within what sRGB can represent.
Colour colour_of(double value) {
  const double t = value > 0 ? std::min(value, 1.0) : 0.0;
  const double hue = (288 - 184 * t) * std::numbers::pi / 180;
  const double chroma = 0.086 + 0.054 * (2 * t - 1) * (2 * t - 1);
  return convert_oklab(kDarkest + (kLightest - kDarkest) * t, chroma * std::cos(hue), chroma * std::sin(hue));
}

std::vector<Colour> make_colour_table(int count) {
  check(count >= 2, "make_colour_table: count is {}, needs at least 2", count);
  std::vector<Colour> colours;
  colours.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) colours.push_back(colour_of(static_cast<double>(i) / (count - 1)));
  return colours;
}

std::string drawing_style() {
  return fmt::format("{}{}@media (prefers-color-scheme: dark) {{\n{}}}\n", page_file("drawing.css"),
                     make_colour_rules(&ThemedColour::on_light), make_colour_rules(&ThemedColour::on_dark));
}

}  // namespace edgewise
