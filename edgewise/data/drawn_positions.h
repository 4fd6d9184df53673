// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/base/random.h"
#include "edgewise/graph/batch.h"
#include "edgewise/options/batch_options.h"

// A model that learns from sentences of up to 40 words has never seen position 41. Two ways to show it all positions
// that it will meet:
//
//     shifted   o, o + 1, o + 2, … with o random (Dehghani et al. 2019, "Universal Transformers", section 3.1)
//     spread    random numbers in order (Ruoss et al. 2023, "Randomized positional encodings boost length
//               generalization of Transformers", section 3), out of a random range: the paper draws from all numbers
//               there are when it tests too; here positions are then counted, and close ones must have been seen
//
// Both sides of a pair get the same, so that word i of one stays word i of the other. Where a model is used, positions
// are counted from 0 as ever.

namespace edgewise {

/// Draws the positions of a batch for training anew, for each pair its own, all below `options.positions_below`; of a
/// pair that has no room below it, they stay as they are. O(positions_below) a pair when spread, else O(tokens).
void draw_positions(Batch& batch, const BatchOptions& options, RandomStream& random);

}  // namespace edgewise
