// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/viz/graph_picture.h"

namespace edgewise {

/// A token and the number of its ponder steps.
struct TokenSteps {
  std::string text;
  std::int64_t steps = 0;
};

/// The tokens of the input or the output.
struct SequenceSteps {
  std::string name;
  std::vector<TokenSteps> tokens;
};

/// Draws one row of tokens per sequence. Below each token is a bar with one block per ponder step.
SvgPicture draw_ponder_steps(const std::string& title, const std::vector<SequenceSteps>& sequences);

/// The nodes of its own sequence to which an active node attends: all nodes, or only active ones.
enum class SourceFilter { kAll, kActiveOnly };

/// Returns the graph of one ponder step, counted from 1: the edges into active nodes. A node is active if
/// `steps[set][node] >= step`; halted nodes are faint.
GraphDrawing select_active_subgraph(const GraphDrawing& whole, const std::vector<std::vector<std::int64_t>>& steps,
                                    std::int64_t step, SourceFilter sources);

}  // namespace edgewise
