// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "edgewise/viz/axis.h"
#include "edgewise/viz/svg.h"

namespace edgewise {

enum class LineStyle { kSolid, kDashed };

struct Curve {
  std::string name;
  // (x, y), x ascending; points whose y cannot be drawn (can_draw) are left out
  std::vector<std::pair<double, double>> points;
  int colour = 0;  // index in the palette
  LineStyle style = LineStyle::kSolid;
};

struct LineChart {
  std::string title;
  std::string x_title;                   // quantity on the x axis: "step"
  AxisScale scale = AxisScale::kLinear;  // scale of y
  std::vector<Curve> curves;
  bool has_legend = false;  // whether the names of the curves stand below the chart
};

/// Draws the chart with x from 0 to `highest_x`, which is finite; points outside are left out. In a curve of more than
/// 300 points, runs of neighbouring points are averaged. The body of the picture is empty if no curve has a point.
SvgPicture draw(const LineChart& chart, double highest_x);

}  // namespace edgewise
