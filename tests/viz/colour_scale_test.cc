// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "edgewise/viz/palette.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using Vector = std::array<double, 3>;

Vector linear_light(const Colour& colour) {
  const auto light = [](std::uint8_t value) {
    const double v = value / 255.0;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return {light(colour.red), light(colour.green), light(colour.blue)};
}

/// Converts linear sRGB to OKLab with the formulas of its author.
Vector oklab(const Vector& light) {
  const double l = std::cbrt(0.4122214708 * light[0] + 0.5363325363 * light[1] + 0.0514459929 * light[2]);
  const double m = std::cbrt(0.2119034982 * light[0] + 0.6806995451 * light[1] + 0.1073969566 * light[2]);
  const double s = std::cbrt(0.0883024619 * light[0] + 0.2817188376 * light[1] + 0.6299787005 * light[2]);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

double distance(const Vector& a, const Vector& b) { return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

// Simulation of severe colour blindness (Machado, Oliveira and Fernandes 2009).
using Matrix = std::array<Vector, 3>;
constexpr Matrix kProtanopia = {
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeuteranopia = {
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritanopia = {
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
constexpr Matrix kNormalSight = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

Vector simulate_sight(const Matrix& sight, const Vector& light) {
  Vector result{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) result[i] += sight[i][j] * light[j];
    result[i] = std::clamp(result[i], 0.0, 1.0);
  }
  return result;
}

TEST(ColourScale, HasLinearLightness) {
  const double darkest = oklab(linear_light(colour_of(0)))[0];
  const double lightest = oklab(linear_light(colour_of(1)))[0];
  EXPECT_LT(darkest, 0.3);
  EXPECT_GT(lightest, 0.9);
  for (int i = 0; i <= 100; ++i) {
    const double lightness = oklab(linear_light(colour_of(i / 100.0)))[0];
    EXPECT_NEAR(lightness, darkest + (lightest - darkest) * i / 100.0, 0.006) << i;
  }
}

TEST(ColourScale, HasSimilarStepsForColourBlindReaders) {
  for (const Matrix& sight : {kNormalSight, kProtanopia, kDeuteranopia, kTritanopia}) {
    double smallest = 1;
    double largest = 0;
    for (int i = 0; i < 10; ++i) {
      const double step = distance(oklab(simulate_sight(sight, linear_light(colour_of(i / 10.0)))),
                                   oklab(simulate_sight(sight, linear_light(colour_of((i + 1) / 10.0)))));
      smallest = std::min(smallest, step);
      largest = std::max(largest, step);
    }
    EXPECT_GT(smallest, 0.05);
    EXPECT_LT(largest, 2 * smallest);
  }
}

TEST(ColourScale, HasItsEndsAtZeroAndOne) {
  EXPECT_EQ(colour_of(-3), colour_of(0));
  EXPECT_EQ(colour_of(7), colour_of(1));
  EXPECT_EQ(colour_of(INFINITY), colour_of(1));
  EXPECT_EQ(colour_of(-INFINITY), colour_of(0));
  EXPECT_EQ(colour_of(NAN), colour_of(0));
  EXPECT_EQ(make_colour_table(5).front(), colour_of(0));
  EXPECT_EQ(make_colour_table(5)[1], colour_of(0.25));
  EXPECT_EQ(make_colour_table(5).back(), colour_of(1));
  EXPECT_EQ(error_of([] { make_colour_table(1); }), "make_colour_table: count is 1, needs at least 2");
  EXPECT_EQ(hex({.red = 1, .green = 255, .blue = 16}), "#01ff10");
}

}  // namespace
}  // namespace edgewise
