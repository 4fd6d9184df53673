// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/graph/batch.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Returns the floating-point operations of one forward and backward pass of a Transformer over a batch: 6 for each
/// token and weight of a matrix that multiplies the token's state (of the vocabulary's matrices, only the output
/// projection), and 12 for each edge, head and component of a head. Recomputation in backward, norms, softmax, dropout
/// and the optimiser do not count.
double training_flops(const TransformerOptions& options, const Batch& batch);

}  // namespace edgewise
