// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/graph/batch.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Floating-point operations that a Transformer needs to learn from a batch once, forward and backward: 6 for each
/// token and weight of the matrices that it goes through (the word tables by their generator alone), 12 for each edge,
/// head and component of a head. What is computed twice to save memory counts once; norms, softmax, dropout and the
/// optimiser count for nothing.
double training_flops(const TransformerOptions& options, const Batch& batch);

}  // namespace edgewise
