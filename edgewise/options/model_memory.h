// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/options/train_options.h"
#include "edgewise/options/transformer_options.h"

// Computes memory from options, so that a model that does not fit is refused before it is built.

namespace edgewise {

/// Returns how many numbers the parameters of a model have; tied matrices count once. The options must be in their
/// ranges.
std::int64_t count_parameters(const TransformerOptions& options);

/// The tokens of a batch.
struct BatchTokens {
  std::int64_t input = 0;
  std::int64_t output = 0;
};

/// Returns a lower bound for the bytes that training needs at once: parameters, gradients, both moments of Adam and the
/// averaged weights; the copy of the state that is being saved, without gradients; and the activations that forward
/// saves for backward of one batch. A side with adaptive computation counts as one step.
double training_memory(const TransformerOptions& model, const TrainOptions& train, const BatchTokens& batch);

}  // namespace edgewise
