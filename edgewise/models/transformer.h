// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/models/guided_alignment.h"
#include "edgewise/models/layer_stacks.h"
#include "edgewise/models/vocabulary_layers.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/nn/halting.h"
#include "edgewise/options/transformer_options.h"

// Shapes: S = encoder nodes, D = decoder nodes, T = some nodes, M = size of a node's state, C = output vocabulary.

namespace edgewise {

/// The states of decoder nodes after the final norm, and the number of layers that computed each of them.
struct ExitedStates {
  at::Tensor state_DM;
  std::vector<std::int64_t> layers;
};

/// The Transformer of "Attention Is All You Need" (Vaswani et al. 2017) on a graph of sentence pairs. The relations of
/// a batch may have any form: complete, causal, windows, sparse. Self-attention of a layer with a pattern
/// (TransformerOptions::relation) has the relation of the pattern instead. Copies share their parameters.
class Transformer {
 public:
  /// Parameters are fp32 leaves, a function of options and seed. Throws Error for options that do not fit together.
  Transformer(const TransformerOptions& options, std::uint64_t seed);

  const TransformerOptions& options() const { return options_; }
  const Encoder& encoder() const { return encoder_; }
  const Decoder& decoder() const { return decoder_; }
  const std::vector<HaltingUnit>& exits() const { return exits_; }  // one for each of options().exits.layers

  // --- Embeddings and output projection, for fused computation and for message passing.
  /// Computes token embeddings plus position vectors, the initial states of nodes: [T, M].
  at::Tensor embed_input(const Batch& batch, Pass& pass) const;
  at::Tensor embed_output(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
                          Pass& pass) const;
  at::Tensor compute_logits(const at::Tensor& state_DM) const;     // logits [D, C]
  at::Tensor log_probabilities(const at::Tensor& state_DM) const;  // log-probabilities of the next token, [D, C]

  /// Return the relations of the self-attention of each side's layers.
  LayerRelations encoder_relations(const Batch& batch) const;
  LayerRelations decoder_relations(const Batch& batch) const;

  /// Returns the positions of encoder nodes that cross-attention reads with cross_distance; empty without it.
  std::vector<std::int64_t> source_positions(const Batch& batch) const;

  // --- Fused: for training and decoding.
  at::Tensor encode(const Batch& batch, Pass& pass) const;                                // [S, M]
  at::Tensor decode(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const;  // [D, M]
  at::Tensor forward(const Batch& batch, Pass& pass) const;                               // logits [D, C]
  /// Returns the results of decode() for decoders with the first layers of this one alone: Decoder::states_at.
  std::vector<at::Tensor> decode_at(std::span<const std::int64_t> depths, const Batch& batch,
                                    const at::Tensor& encoded_SM, Pass& pass,
                                    std::vector<at::Tensor>* before_norm = nullptr) const;
  /// Decodes with nodes that halt at exits (options/exit_options.h). Defines what the runtime computes: this function
  /// computes all layers for all nodes, and leaves the states of halted nodes as they are.
  ExitedStates decode_with_exits(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const;
  /// Returns VocabularyLayers::loss of a batch, without storing all logits, or with exits
  /// VocabularyLayers::weighted_loss of the states there and after the last layer. With two passes, `batch` holds its
  /// sentences twice. Guided alignment adds its loss to the objective alone.
  BatchLoss loss(const Batch& batch, const LossOptions& options, const AddedLosses& added, Pass& pass) const;
  /// Returns the loss of the halting units of exits for frozen states, which have no gradients and no dropout: the mean
  /// over exits of the binary cross-entropy, summed over tokens. The oracle's decision is to halt where the likeliest
  /// token is that of the last layer (Schuster et al. 2022); each exit learns it for all tokens, whatever earlier exits
  /// decide. A token is correct if all units are more likely than not to decide as the oracle does. Ignored labels have
  /// no loss.
  BatchLoss halting_loss(const Batch& batch, const LossOptions& options) const;

  // --- Message passing: the definition of the fused functions.
  /// Calls update_graph with the graph tutorial's attention: scaled dot products without dropout. Throws Error for a
  /// model with another score.
  void update_graph(MessageGraph& graph, const at::Tensor& edges, const std::vector<NodeUpdate>& pre,
                    const std::vector<NodeUpdate>& post) const;

  /// Computes logits, [D, C]. `graph` holds the batch's graph or an edge_subgraph of it. With equal passes this
  /// function and `forward` drop the same values, except attention weights, whose dropout masks are drawn in another
  /// order.
  at::Tensor forward_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    // First, because processes exchange gradients from the last parameter on, and these are often not computed.
    part("exits", self.exits_);
    part("input_embedding", self.vocabulary_.input_embedding);
    part("output_embedding", self.vocabulary_.output_embedding);
    part("input_positions", self.input_positions_);
    part("output_positions", self.output_positions_);
    part("encoder", self.encoder_);
    part("decoder", self.decoder_);
    part("generator", self.vocabulary_.output_projection);
  }

 private:
  at::Tensor embed(const Embedding& embedding, const SidePositions& side_positions,
                   std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions, Pass& pass,
                   std::span<const std::int64_t> mirrored = {}) const;
  void encode_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const;
  void decode_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const;

  TransformerOptions options_;
  RelationPatterns encoder_patterns_;
  RelationPatterns decoder_patterns_;
  VocabularyLayers vocabulary_;
  SidePositions input_positions_;
  SidePositions output_positions_;
  Encoder encoder_;
  Decoder decoder_;
  std::vector<HaltingUnit> exits_;
};

}  // namespace edgewise
