// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

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
