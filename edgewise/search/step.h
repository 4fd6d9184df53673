// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "edgewise/search/rules.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// A decoding step of all active sentences: each sentence adds its requests, and reads its part of the result after
/// `run`.
struct Step {
  std::vector<NewNode> nodes;
  std::vector<Continuation> excluded;
  std::vector<Continuation> wanted;
  std::size_t num_weights = 0;  // attention weights in the result, if requested
  bool attention = false;       // whether a sentence needs them
  StepResult result;

  /// Removes all requests; keeps allocated memory.
  void clear() {
    nodes.clear();
    excluded.clear();
    wanted.clear();
    num_weights = 0;
    attention = false;
  }

  void run(Scorer& scorer, const SearchRules& rules) {
    scorer.step({.nodes = nodes,
                 .num_candidates = rules.num_candidates(),
                 .allowed = rules.allowed(),
                 .excluded = excluded,
                 .wanted = wanted,
                 .all = rules.needs_all_continuations(),
                 .attention = attention},
                result);
  }
};

}  // namespace edgewise
