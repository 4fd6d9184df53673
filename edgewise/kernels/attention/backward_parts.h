// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/kernels/attention/tile_plan.h"

namespace edgewise::kernels {

/// A part of the backward pass that one thread computes, for one head.
struct BackwardPart {
  enum class Kind {
    kRun,      // all gradients of a run; computes each weight once
    kRows,     // the gradients of a block's queries and edge biases
    kSources,  // the gradients of a source tile's keys and values
  };
  Kind kind;
  std::int64_t run;
  std::int64_t index;        // the block in TilePlan::blocks, or the source tile in TilePlan::tiles
  std::int64_t cost_before;  // the cost of all parts before this one
};

/// Splits the backward pass into parts, so that all threads get about equal cost. A run is one part of 5 matrix
/// products if its cost is a small share of a thread's. Otherwise, the run is many small parts for its rows (3
/// products) and its sources (4 products), which compute each weight twice. Both ways give the same bits. Appends an
/// empty part whose cost_before is the total cost.
std::vector<BackwardPart> split_backward(const TilePlan& plan, std::int64_t num_heads, int num_threads);

}  // namespace edgewise::kernels
