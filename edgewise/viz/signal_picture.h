// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// A vector for each position: numbers from -1 to 1, position by position.
struct Signal {
  std::string title;
  std::int64_t positions = 0;
  std::int64_t size = 0;      // dimensions
  std::vector<float> values;  // [positions, size]

  float value(std::int64_t position, std::int64_t dimension) const {
    return values[static_cast<std::size_t>(position * size + dimension)];
  }
};

/// Positions across, dimensions downwards, each number in its colour: -1 is that of 0 on the scale of colour_scale.h.
SvgPicture draw_map(const Signal& signal);

/// How single dimensions go with the position. Throws Error for one that there is not.
SvgPicture draw_curves(const Signal& signal, const std::vector<std::int64_t>& dimensions);

}  // namespace edgewise
