// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/nn/embedding.h"
#include "edgewise/nn/linear.h"
#include "edgewise/ops/loss.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// The layers between tokens and states: both embeddings and the output projection, tied according to options.tying. A
/// language model has no input embedding.
struct VocabularyLayers {
  Embedding input_embedding;
  Embedding output_embedding;
  Linear output_projection;  // states to logits; its tensors are named "generator" in checkpoints

  VocabularyLayers() = default;

  /// Draws the embeddings from `random`, and the output projection from a stream of its own of `seed`.
  VocabularyLayers(const TransformerOptions& options, std::uint64_t seed, RandomStream& random);

  /// Returns projected_loss or, with two passes, projected_consistency_loss.
  BatchLoss loss(const at::Tensor& state_DM, const std::vector<std::int64_t>& labels, const Consistency& consistency,
                 const LossOptions& options) const;

  /// Returns the loss of the last of several states of the same nodes, with the losses of the others as its `exits`;
  /// its objective is the sum of all objectives times their weights. The output projection is shared.
  BatchLoss weighted_loss(const std::vector<at::Tensor>& states, const std::vector<double>& weights,
                          const std::vector<std::int64_t>& labels, const Consistency& consistency,
                          const LossOptions& options) const;

  /// Returns the token with the highest logit for each state, without storing all logits: int64 [D]. Has no gradient.
  at::Tensor best_tokens(const at::Tensor& state_DM) const;
};

}  // namespace edgewise
