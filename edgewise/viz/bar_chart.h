// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

struct BarSeries {
  std::string name;
  std::vector<double> values;  // one of each category
  int colour = 0;              // its number in the palette
};

/// Bars of one or several series, side by side in each category.
struct BarChart {
  std::string title;
  std::string of_x;                     // what the categories are
  std::vector<std::string> categories;  // their names
  std::vector<BarSeries> series;
  double highest = 0.0;  // of the axis; 0: as the values have it
};

/// With a legend where there are several series. Values are shares: 0.25 is shown as 25%.
SvgPicture draw(const BarChart& chart);

}  // namespace edgewise
