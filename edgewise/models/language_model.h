// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/models/guided_alignment.h"
#include "edgewise/models/layer_stacks.h"
#include "edgewise/models/vocabulary_layers.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/options/transformer_options.h"

// Shapes: D = nodes, one for each token; M = size of a node's state, C = vocabulary.

namespace edgewise {

/// A language model: the decoder of a Transformer without cross-attention (Liu et al. 2018, "Generating Wikipedia by
/// Summarizing Long Sequences", section 4.2.2). A batch has decoder nodes only; its relation `dd` may have any form,
/// and should have no edge from a later token to an earlier one. A layer with a pattern (TransformerOptions::relation)
/// has the relation of the pattern over the documents of the batch instead. Copies share their parameters.
class LanguageModel {
 public:
  /// Parameters are fp32 leaves, a function of options and seed. Throws Error for options that do not fit together.
  LanguageModel(const TransformerOptions& options, std::uint64_t seed);

  const TransformerOptions& options() const { return options_; }
  const Encoder& decoder() const { return decoder_; }

  /// Computes token embeddings plus position vectors, the initial states of nodes: [D, M].
  at::Tensor embed(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions, Pass& pass) const;
  at::Tensor decode(const Batch& batch, Pass& pass) const;      // states after the last layer, [D, M]
  at::Tensor compute_logits(const at::Tensor& state_DM) const;  // logits [D, C] of the next token
  at::Tensor forward(const Batch& batch, Pass& pass) const;     // logits [D, C]

  /// Returns VocabularyLayers::loss of a batch, without storing all logits. With two passes, `batch` holds its
  /// texts twice. Throws Error for a batch with encoder nodes.
  BatchLoss loss(const Batch& batch, const LossOptions& options, const AddedLosses& added, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("output_embedding", self.vocabulary_.output_embedding);
    part("output_positions", self.positions_);
    part("decoder", self.decoder_);
    part("generator", self.vocabulary_.output_projection);
  }

 private:
  TransformerOptions options_;
  RelationPatterns decoder_patterns_;
  VocabularyLayers vocabulary_;
  SidePositions positions_;
  Encoder decoder_;
};

}  // namespace edgewise
