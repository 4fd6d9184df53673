// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "edgewise/search/rules.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// One step of all sentences that are being searched: each adds what it asks, then reads what was answered.
struct Step {
  std::vector<NewNode> nodes;
  std::vector<Continuation> excluded;
  std::vector<Continuation> wanted;
  std::size_t num_weights = 0;  // of attention, if it is wanted
  StepResult result;

  /// Keeps the memory.
  void clear() {
    nodes.clear();
    excluded.clear();
    wanted.clear();
    num_weights = 0;
  }

  void run(Scorer& scorer, const Rules& rules) {
    scorer.step({.nodes = nodes,
                 .num_candidates = rules.num_candidates(),
                 .allowed = rules.allowed(),
                 .excluded = excluded,
                 .wanted = wanted,
                 .all = rules.all_continuations(),
                 .attention = rules.needs_attention()},
                result);
  }
};

}  // namespace edgewise
