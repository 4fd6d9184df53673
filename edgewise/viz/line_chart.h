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
  std::vector<std::pair<double, double>> points;  // ascending; those that are not finite are left out
  int colour = 0;                                 // its number in the palette
  LineStyle style = LineStyle::kSolid;
};

struct LineChart {
  std::string title;
  std::string of_x;  // what the lower side counts
  AxisScale scale = AxisScale::kLinear;
  std::vector<Curve> curves;
  bool has_legend = false;  // which curve is which; else whoever shows the chart says it
};

/// Charts of one `highest_x` lie over each other exactly. Of a long curve, neighbouring points are averaged to as many
/// as can be seen. The picture's body is empty where no curve has a point.
SvgPicture draw(const LineChart& chart, double highest_x);

}  // namespace edgewise
