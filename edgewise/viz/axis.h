// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace edgewise {

enum class AxisScale { kLinear, kLogarithmic };

/// The greatest absolute value that a chart draws: sums and differences of such values do not overflow.
inline constexpr double kLargestDrawn = 1e300;

/// The smallest value that a chart with a logarithmic axis draws.
inline constexpr double kSmallestDrawn = 1e-300;

/// Returns whether an axis of this scale can contain the value.
bool can_draw(double value, AxisScale scale);

/// An axis of a chart. Its extent is at least 0.5 % of the largest absolute value that it was made for: values that
/// differ by less form a flat line, and the labels of ticks differ in their first four digits.
class Axis {
 public:
  /// Makes the shortest axis that contains `lowest` and `highest`. If `lowest` is not negative, the axis does not
  /// extend below 0. Throws Error unless can_draw() holds for both and `lowest` is at most `highest`.
  Axis(double lowest, double highest, AxisScale scale = AxisScale::kLinear);

  double lowest() const { return lowest_; }
  double highest() const { return highest_; }

  /// Maps lowest() to 0 and highest() to 1.
  double normalise(double value) const;

  /// Returns round numbers within the axis, strictly ascending: about `count` (2 to 9), never more than 2 * count, or 5
  /// if `count` is 2. Throws Error for another `count`.
  std::vector<double> ticks(int count) const;

 private:
  double lowest_;
  double highest_;
  AxisScale scale_;
};

/// Formats a number with at most four digits: "2.5", "1e-05", "12k".
std::string format_number(double value);

}  // namespace edgewise
