// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/kernels/attention/tile_plan.h"

namespace edgewise::kernels {

/// A share of backward that a thread does alone, for one head.
struct BackwardPart {
  enum class Kind {
    kRun,      // all gradients of a run, each weight computed once
    kRows,     // those of a block's queries and of its edges
    kSources,  // those of a tile's keys and values
  };
  Kind kind;
  std::int64_t run;
  std::int64_t index;        // of the block or tile
  std::int64_t cost_before;  // of all parts before this one
};

/// Runs go whole as long as that leaves all threads about the same work, else as rows and sources: 14 products' worth
/// instead of 10, but in small parts. The sums are the same bits either way. A last part without content says the cost
/// of all.
std::vector<BackwardPart> backward_parts(const TilePlan& plan, std::int64_t num_heads, int num_threads);

}  // namespace edgewise::kernels
