// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/viz/graph_picture.h"
#include "edgewise/viz/svg.h"

namespace edgewise {

/// A token, and how many steps its node thought.
struct ThoughtToken {
  std::string text;
  std::int64_t steps = 0;
};

struct ThoughtSide {
  std::string name;
  std::vector<ThoughtToken> tokens;
};

/// The words of one or several sides, and under each a bar of as many blocks as its node thought steps.
SvgPicture draw_thinking(const std::string& title, const std::vector<ThoughtSide>& sides);

enum class SeenByActive { kAll, kActiveOnly };

/// What is left of a graph in a step, from 1: edges into nodes that still think, whose sets' nodes take so many steps.
/// The others are faint, and seen or not.
GraphDrawing active_part(const GraphDrawing& whole, const std::vector<std::vector<std::int64_t>>& steps,
                         std::int64_t step, SeenByActive seen);

}  // namespace edgewise
