// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// Numbers from 0 to 1 as colours. A row of attention is a node that looks, a column one that is looked at.
struct HeatMap {
  std::string title;
  std::string of_rows;            // what rows are
  std::string of_columns;         // what columns are
  std::vector<std::string> rows;  // their labels, tokens as they are
  std::vector<std::string> columns;
  std::vector<float> values;  // row by row; NaN where there is nothing, which stays empty

  float value(std::size_t row, std::size_t column) const { return values[row * columns.size() + column]; }
};

/// With labels and the scale's legend. Throws Error where there are not as many values as rows times columns.
SvgPicture draw(const HeatMap& map);

/// Its cells alone, `size` wide and high, with their upper left corner at a point.
std::string draw_cells(const HeatMap& map, double x, double y, double size);

}  // namespace edgewise
