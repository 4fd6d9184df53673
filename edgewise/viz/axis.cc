// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

// With at most 9 ticks per axis, the distance of two ticks is at least 0.5 ‰ of the largest absolute value. This
// distance is a round number, so that it is at least one unit of the fourth digit.
constexpr double kMinExtent = 0.005;

// Shorter axes than this would have subnormal numbers as ticks.
constexpr double kMinAbsoluteExtent = 1e-300;

/// Returns the smallest number of the form 1, 2 or 5 times a power of ten that is not below `lower_bound`.
double round_step(double lower_bound) {
  const double power = std::pow(10.0, std::floor(std::log10(lower_bound)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= lower_bound * (1 - 1e-9)) return factor * power;
  }
  return 10.0 * power;
}

std::vector<double> multiples_of(double step, double lowest, double highest) {
  constexpr double kTolerance = 1e-9;  // in steps; larger than the rounding errors
  std::vector<double> multiples;
  const double last = std::floor(highest / step + kTolerance);
  for (double i = std::ceil(lowest / step - kTolerance); i <= last; ++i)
    multiples.push_back(std::clamp(i * step + 0.0, lowest, highest));  // never -0
  return multiples;
}

/// Returns at least two ticks: the round step may be longer than the axis if `count` is small.
std::vector<double> even_ticks(double lowest, double highest, int count) {
  std::vector<double> ticks;
  for (int parts = count; ticks.size() < 2; ++parts) {
    ticks = multiples_of(round_step((highest - lowest) / parts), lowest, highest);
  }
  return ticks;
}

/// Returns the products of the factors and those powers of ten whose exponent is a multiple of `stride`.
std::vector<double> decade_ticks(double lowest, double highest, std::span<const double> factors, int stride) {
  const int last = static_cast<int>(std::floor(std::log10(highest)));
  std::vector<double> ticks;
  for (int exponent = static_cast<int>(std::floor(std::log10(lowest))); exponent <= last; ++exponent) {
    if (exponent % stride != 0) continue;
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, exponent);
      if (tick >= lowest * (1 - 1e-9) && tick <= highest * (1 + 1e-9))
        ticks.push_back(std::clamp(tick, lowest, highest));
    }
  }
  return ticks;
}

/// Returns the densest of these lists that has at most `most` ticks: powers of ten times 1, 2, 3 and 5; times 1 and 3;
/// times 1; every second power, every third, and so on.
std::vector<double> logarithmic_ticks(double lowest, double highest, std::size_t most) {
  constexpr double kFactors[] = {1.0, 3.0, 2.0, 5.0};
  for (const std::size_t factors : {4, 2}) {
    std::vector<double> ticks = decade_ticks(lowest, highest, std::span(kFactors).first(factors), 1);
    std::ranges::sort(ticks);
    if (ticks.size() <= most) return ticks;
  }
  for (int stride = 1;; ++stride) {
    std::vector<double> ticks = decade_ticks(lowest, highest, std::span(kFactors).first(1), stride);
    if (ticks.size() <= most) return ticks;
  }
}

}  // namespace

bool can_draw(double value, AxisScale scale) {
  return std::abs(value) <= kLargestDrawn && (scale == AxisScale::kLinear || value >= kSmallestDrawn);
}

Axis::Axis(double lowest, double highest, AxisScale scale) : lowest_(lowest), highest_(highest), scale_(scale) {
  check(can_draw(lowest, scale) && can_draw(highest, scale) && lowest <= highest,
        "Axis: lowest is {} and highest is {}, needs ascending finite numbers that can be drawn", lowest, highest);
  const double largest = std::max(std::abs(lowest), std::abs(highest));
  const double extent = largest > 0 ? std::max(kMinExtent * largest, kMinAbsoluteExtent) : 1.0;
  if (highest - lowest >= extent) return;
  const double middle = lowest + (highest - lowest) / 2;
  lowest_ = middle - extent / 2;
  if (lowest >= 0) lowest_ = std::max(lowest_, 0.0);
  highest_ = lowest_ + extent;
}

double Axis::normalise(double value) const {
  if (scale_ == AxisScale::kLinear) return (value - lowest_) / (highest_ - lowest_);
  return (std::log(value) - std::log(lowest_)) / (std::log(highest_) - std::log(lowest_));
}

std::vector<double> Axis::ticks(int count) const {
  check(count >= 2 && count <= 9, "Axis::ticks: count is {}, needs 2 to 9", count);
  if (scale_ == AxisScale::kLogarithmic) {
    std::vector<double> ticks = logarithmic_ticks(lowest_, highest_, 2 * static_cast<std::size_t>(count));
    if (ticks.size() >= 3) return ticks;
  }
  return even_ticks(lowest_, highest_, count);
}

std::string format_number(double value) {
  constexpr double kThousands = 9999.5;  // {:.4g} writes this and larger numbers with an exponent
  const double size = std::abs(value);
  if (size >= 1e6 && size < 1e9) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= kThousands && size < 1e6) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

}  // namespace edgewise
