// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/base/random.h"
#include "edgewise/graph/batch.h"
#include "edgewise/options/data_options.h"

// A model trained on sentences of up to 40 tokens never gets position 41, unless training positions are random:
//
//     shifted   o, o + 1, o + 2, … with o random (Dehghani et al. 2019, "Universal Transformers", section 3.1)
//     spread    sorted random numbers from a random range (after Ruoss et al. 2023, "Randomized positional encodings
//               boost length generalization of Transformers", section 3). The paper draws from all numbers, in tests
//               too. Here positions count from 0 outside training, so training must include neighbouring positions
//
// Token i of the input and token i of the output get the same position.

namespace edgewise {

/// Replaces the positions of a training batch by random positions below `options.positions_below`, drawn for each pair.
/// A longer pair keeps its positions. Costs O(positions_below) per pair for spread positions, else O(tokens).
void draw_positions(Batch& batch, const BatchOptions& options, RandomStream& random);

}  // namespace edgewise
