// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// What became of a node of a search's tree.
enum class Fate {
  kKept,   // part of an output
  kCut,    // others were better
  kEnded,  // the end of an output
  kBest,   // part or end of the best output
};

struct DrawnHypothesis {
  std::int64_t parent = -1;  // an earlier node; -1: the root
  std::string label;
  double log_probability = 0.0;                // of the path to it
  std::optional<double> score = std::nullopt;  // of an output that ends here
  Fate fate = Fate::kCut;
};

struct TreeDrawing {
  std::string title;
  std::vector<DrawnHypothesis> nodes;
};

/// The tree grows to the right, the likelier branches above; below each token stands the log-probability of its path,
/// behind each end the score. What was cut is dashed.
SvgPicture draw(const TreeDrawing& tree);

std::string json_of(const TreeDrawing& tree);

}  // namespace edgewise
