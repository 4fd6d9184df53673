// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/search/rules.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

struct BeamOptions {
  std::int64_t width = 1;       // places for hypotheses, alive or ended
  std::int64_t num_wanted = 1;  // a sentence is over once no living hypothesis can get among so many best
};

/// The hypotheses that ended, best first: at least `num_wanted` of them where there are so many. No input may be empty.
/// One of width 1 is the greedy one.
std::vector<std::vector<Hypothesis>> search_beam(Scorer& scorer, std::span<const Tokens> inputs, const Rules& rules,
                                                 const BeamOptions& options);

}  // namespace edgewise
