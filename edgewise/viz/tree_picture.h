// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// The role of a node in a search tree.
enum class HypothesisStatus {
  kKept,    // token of an output
  kPruned,  // token that no output contains
  kEnded,   // end token of an output
  kBest,    // token or end token of the best output
};

struct HypothesisDrawing {
  std::int64_t parent = -1;  // index of an earlier node; -1: the root
  std::string label;
  double log_probability = 0.0;                // sum over the path from the root
  std::optional<double> score = std::nullopt;  // score of the output that ends here
  HypothesisStatus status = HypothesisStatus::kPruned;
};

struct TreeDrawing {
  std::string title;
  std::vector<HypothesisDrawing> nodes;
};

/// Draws the tree from left to right. The best output is above, and likelier branches are above others. Below each
/// token is its log-probability, beside each end token its score. Branches to pruned nodes are dashed.
SvgPicture draw(const TreeDrawing& tree);

std::string json_of(const TreeDrawing& tree);

}  // namespace edgewise
