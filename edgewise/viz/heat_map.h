// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// A matrix of values from 0 to 1, drawn as colours. In a map of attention weights, rows are queries and columns keys.
struct HeatMap {
  std::string title;
  std::string row_title;             // name of the rows
  std::string column_title;          // name of the columns
  std::vector<std::string> rows;     // labels; any bytes
  std::vector<std::string> columns;  // labels; any bytes
  std::vector<float> values;         // [rows, columns]; NaN: an empty cell

  float value(std::size_t row, std::size_t column) const { return values[row * columns.size() + column]; }
};

/// Draws the cells, labels and the legend of the colours. Throws Error unless `values` has rows × columns elements.
SvgPicture draw(const HeatMap& map);

/// Returns SVG elements of the cells only. (x, y) is the upper left corner; a cell is `size` wide and high.
std::string draw_cells(const HeatMap& map, double x, double y, double size);

}  // namespace edgewise
