// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace edgewise {

enum class AxisScale { kLinear, kLogarithmic };

/// Numbers along a side of a chart, from `lowest` to `highest`; on a logarithmic scale both are above 0.
struct Axis {
  double lowest = 0.0;
  double highest = 1.0;
  AxisScale scale = AxisScale::kLinear;

  /// Where a number lies: 0 at the lowest, 1 at the highest.
  double place(double value) const;

  /// Round numbers within, ascending, about `count` of them.
  std::vector<double> ticks(int count) const;
};

/// In few characters: "2.5", "1e-05", "12k".
std::string short_number(double value);

}  // namespace edgewise
