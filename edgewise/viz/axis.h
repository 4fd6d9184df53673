// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace edgewise {

enum class AxisScale { kLinear, kLogarithmic };

/// An axis of a chart, from `lowest` to `highest`; on a logarithmic scale both are above 0.
struct Axis {
  double lowest = 0.0;
  double highest = 1.0;
  AxisScale scale = AxisScale::kLinear;

  /// Maps `lowest` to 0 and `highest` to 1; returns 0.5 on an axis without extent.
  double normalise(double value) const;

  /// Returns about `count` round numbers within the axis, ascending.
  std::vector<double> ticks(int count) const;
};

/// Formats a number in few characters: "2.5", "1e-05", "12k".
std::string format_number(double value);

}  // namespace edgewise
