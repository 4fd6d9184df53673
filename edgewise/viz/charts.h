// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

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

struct BarSeries {
  std::string name;
  std::vector<double> values;  // one per category
  int colour = 0;              // index in kPalette, modulo kColours
};

/// A bar chart of fractions: 0.25 is displayed as 25%. In each category, the bars of the series stand side by side.
struct BarChart {
  std::string title;
  std::string x_title;                  // title of the category axis
  std::vector<std::string> categories;  // names of the categories
  std::vector<BarSeries> series;
  double highest = 0.0;  // upper end of the value axis; 0: the highest value of all series
};

/// Draws the chart, with a legend for several series.
SvgPicture draw(const BarChart& chart);

}  // namespace edgewise
