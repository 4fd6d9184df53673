// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/models/decoder.h"
#include "edgewise/models/encoder.h"
#include "edgewise/models/update_graph.h"
#include "edgewise/models/word_ends.h"
#include "edgewise/nn/positions.h"
#include "edgewise/ops/projected_loss.h"
#include "edgewise/options/transformer_options.h"

// Shapes: S = encoder nodes, D = decoder nodes, T = some nodes, M = size of a node's state, C = output vocabulary.

namespace edgewise {

/// Attention Is All You Need (Vaswani et al. 2017) on a graph of sentence pairs. The batch's relations may have any
/// form: complete, causal, windows, something sparse. Copies share their parameters.
class Transformer {
 public:
  /// Parameters are fp32 leaves, a function of options and seed. Throws Error for options that do not fit together.
  Transformer(const TransformerOptions& options, std::uint64_t seed);

  const TransformerOptions& options() const { return options_; }
  const Encoder& encoder() const { return encoder_; }
  const Decoder& decoder() const { return decoder_; }

  // --- the ends, which both ways share.
  /// Word embeddings with positions added: a node's first state, [T, M].
  at::Tensor embed_input(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
                         Pass& pass) const;
  at::Tensor embed_output(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
                          Pass& pass) const;
  at::Tensor generate(const at::Tensor& state_DM) const;           // logits [D, C]
  at::Tensor log_probabilities(const at::Tensor& state_DM) const;  // of the next word, [D, C]

  // --- fused: what training and decoding use.
  at::Tensor encode(const Batch& batch, Pass& pass) const;                                // [S, M]
  at::Tensor decode(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const;  // [D, M]
  at::Tensor forward(const Batch& batch, Pass& pass) const;                               // logits [D, C]
  /// What training wants of `forward`, without ever holding all logits.
  ProjectedLoss loss(const Batch& batch, const LossOptions& options, Pass& pass) const;
  /// The same with R-Drop (projected_rdrop_loss), of a batch that has its sentences twice.
  ProjectedLoss rdrop_loss(const Batch& both, double weight, const LossOptions& options, Pass& pass) const;

  // --- by message passing: the definition.
  /// update_graph with the graph tutorial's attention: scaled dot products, no weight dropped. Throws Error for a model
  /// whose scores are others.
  void update_graph(MessageGraph& graph, const at::Tensor& edges, const std::vector<NodeStep>& pre,
                    const std::vector<NodeStep>& post) const;

  /// `graph` holds the batch's graph, or an edge_subgraph of it. With equal passes this and `forward` drop the same
  /// values, but for attention weights: those are drawn edge by edge there, and value by value here.
  at::Tensor forward_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const;  // logits [D, C]

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("input_embedding", self.words_.input_embedding);
    part("output_embedding", self.words_.output_embedding);
    part("encoder", self.encoder_);
    part("decoder", self.decoder_);
    part("generator", self.words_.generator);
  }

 private:
  at::Tensor embed(const Embedding& embedding, std::span<const std::int64_t> tokens,
                   std::span<const std::int64_t> positions, Pass& pass) const;
  void encode_by_messages(MessageGraph& graph, Pass& pass) const;
  void decode_by_messages(MessageGraph& graph, Pass& pass) const;

  TransformerOptions options_;
  WordEnds words_;
  Positions positions_;
  Encoder encoder_;
  Decoder decoder_;
};

}  // namespace edgewise
