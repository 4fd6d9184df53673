// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/axis.h"

#include <fmt/format.h>

#include <cmath>

namespace edgewise {
namespace {

/// Returns the smallest number of the form 1, 2 or 5 times a power of ten that is not below `lower_bound`.
double round_step(double lower_bound) {
  const double power = std::pow(10.0, std::floor(std::log10(lower_bound)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= lower_bound * (1 - 1e-9)) return factor * power;
  }
  return 10.0 * power;
}

std::vector<double> even_ticks(double lowest, double highest, int count) {
  const double step = round_step((highest - lowest) / count);
  std::vector<double> ticks;
  const double tolerance = step * 1e-9;
  for (double i = std::ceil((lowest - tolerance) / step); i * step <= highest + tolerance; ++i)
    ticks.push_back(i * step + 0.0);  // never -0
  return ticks;
}

std::vector<double> decade_ticks(double lowest, double highest) {
  std::vector<double> ticks;
  for (double power = std::pow(10.0, std::floor(std::log10(lowest))); power <= highest; power *= 10) {
    for (const double factor : {1.0, 2.0, 3.0, 5.0}) {
      const double tick = factor * power;
      if (tick >= lowest * (1 - 1e-9) && tick <= highest * (1 + 1e-9)) ticks.push_back(tick);
    }
  }
  return ticks;
}

}  // namespace

double Axis::normalise(double value) const {
  if (highest <= lowest) return 0.5;
  if (scale == AxisScale::kLinear) return (value - lowest) / (highest - lowest);
  return std::log(value / lowest) / std::log(highest / lowest);
}

std::vector<double> Axis::ticks(int count) const {
  if (highest <= lowest) return {lowest};
  if (scale == AxisScale::kLogarithmic) {
    std::vector<double> decades = decade_ticks(lowest, highest);
    if (decades.size() >= 3 && decades.size() <= 2 * static_cast<std::size_t>(count)) return decades;
  }
  return even_ticks(lowest, highest, count);
}

std::string format_number(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (std::abs(value) >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

}  // namespace edgewise
