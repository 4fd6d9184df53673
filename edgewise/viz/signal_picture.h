// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// One vector per position, as in a positional encoding, with values from -1 to 1.
struct Signal {
  std::string title;
  std::int64_t positions = 0;
  std::int64_t size = 0;      // dimensions of a vector
  std::vector<float> values;  // [positions, size]

  float value(std::int64_t position, std::int64_t dimension) const {
    return values[static_cast<std::size_t>(position * size + dimension)];
  }
};

/// Draws a map: columns are positions, rows are dimensions. Value v has the colour (v + 1) / 2 of palette.h.
SvgPicture draw_map(const Signal& signal);

/// Draws the given dimensions as curves over the positions. Throws Error for a dimension out of range.
SvgPicture draw_curves(const Signal& signal, const std::vector<std::int64_t>& dimensions);

}  // namespace edgewise
