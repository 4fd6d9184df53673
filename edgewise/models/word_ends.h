// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/nn/embedding.h"
#include "edgewise/nn/linear.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// The two ends of a model, where words become states and states become words, with what is tied of them.
struct WordEnds {
  Embedding input_embedding;
  Embedding output_embedding;
  Linear generator;  // from a state to logits

  WordEnds() = default;

  /// Embeddings draw from `random`; the generator from a stream of its own, so that layers in between may draw first.
  WordEnds(const TransformerOptions& options, std::uint64_t seed, RandomStream& random);
};

}  // namespace edgewise
