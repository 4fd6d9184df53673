// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/graph/batch.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/models/adaptive_computation.h"
#include "edgewise/models/guided_alignment.h"
#include "edgewise/models/vocabulary_layers.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/transformer_layers.h"
#include "edgewise/options/transformer_options.h"

// Shapes: S = encoder nodes, D = decoder nodes, M = size of a node's state, C = output vocabulary.

namespace edgewise {

/// The encoder or the decoder: one layer, applied at most `encoder_layers` or `decoder_layers` times.
template <class Layer>
struct UniversalSide {
  Layer layer;
  DepthwiseConvolution convolution;  // before feed-forward; off unless transition is separable_convolution
  HaltingUnit halting;               // applied at the end of each step; without parameters unless the side is adaptive
  Norm norm;                         // applied to the weighted sum of the states; the identity without final_norm

  UniversalSide() = default;
  /// `window` is the window of the convolution.
  UniversalSide(const TransformerOptions& options, NeighbourWindow window, bool is_adaptive, RandomStream& random);

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("layer", self.layer);
    part("filter", self.convolution);
    part("halting", self.halting);
    part("norm", self.norm);
  }
};
using UniversalEncoder = UniversalSide<EncoderLayer>;
using UniversalDecoder = UniversalSide<DecoderLayer>;

/// The Universal Transformer (Dehghani et al. 2019) with adaptive computation time (Graves 2016): each node halts after
/// its own number of steps, and a step computes the active nodes only.
class UniversalTransformer {
 public:
  /// Parameters are fp32 leaves, a function of options and seed. Throws Error for options that do not fit together.
  UniversalTransformer(const TransformerOptions& options, std::uint64_t seed);

  const TransformerOptions& options() const { return options_; }
  const UniversalEncoder& encoder() const { return encoder_; }
  const UniversalDecoder& decoder() const { return decoder_; }
  const VocabularyLayers& vocabulary_layers() const { return vocabulary_; }
  const PositionEncodings& positions() const { return positions_; }

  // --- Fused, on the gathered rows of the active nodes: for training and decoding.
  /// Computes states after the final norm: [S, M] in encode, [D, M] in decode.
  AdaptiveResult encode(const Batch& batch, Pass& pass) const;
  AdaptiveResult decode(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const;
  at::Tensor forward(const Batch& batch, Pass& pass) const;  // logits [D, C]

  /// Runs the decoder's steps and final norm on embedded tokens x, with the caller's layer.
  AdaptiveResult run_decoder_steps(const at::Tensor& x_DM, const CoordinateEmbeddings& coordinates,
                                   AdaptiveLayer& layer, Pass& pass) const;

  /// Returns VocabularyLayers::loss; the objective includes the mean ponder cost of the adaptive nodes times
  /// ponder_weight for each label. With two passes, `batch` holds its sentences twice.
  BatchLoss loss(const Batch& batch, const LossOptions& options, const AddedLosses& added, Pass& pass) const;

  // --- Message passing with filters, as in the graph tutorial: the definition of the fused functions.
  /// Computes logits, [D, C]; `graph` holds the batch's graph. Sets the node columns "step", the ponder steps of each
  /// node, and "r", its remainder. With equal passes this function and `forward` drop the same words; without other
  /// dropout the result equals `forward`. Attention is computed in fp32 also in a pass with bf16.
  at::Tensor forward_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const;

  // The tutorial's functions, for update_graph.
  /// Adds the coordinate embeddings of "pos", with mirrored positions of "mirror", and of "step" to "x", with input
  /// injection also "token" from the second step on, and 1 to "step".
  NodeFunction step_forward(Pass& pass) const;
  /// Computes "p", "sum_p", "r", "s" and "active" from "x" by the formulas of HaltingState. `is_last` halts all nodes.
  NodeFunction halt_and_accum(const HaltingUnit& halting, bool is_last) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("input_embedding", self.vocabulary_.input_embedding);
    part("output_embedding", self.vocabulary_.output_embedding);
    part("encoder", self.encoder_);
    part("decoder", self.decoder_);
    part("generator", self.vocabulary_.output_projection);
  }

 private:
  struct MessageSteps;

  template <class Layer>
  AdaptiveResult run_side(std::int64_t max_steps, bool is_adaptive, const at::Tensor& x_NM,
                          const CoordinateEmbeddings& coordinates, const UniversalSide<Layer>& side,
                          AdaptiveLayer& layer, Pass& pass) const;
  at::Tensor weighted_ponder_cost(const AdaptiveResult& encoded, const AdaptiveResult& decoded,
                                  std::int64_t num_labels) const;
  void set_initial_columns(MessageGraph& graph, const Batch& batch, Pass& pass) const;
  template <class Layer>
  void run_steps_by_messages(MessageGraph& graph, const UniversalSide<Layer>& side, const MessageSteps& steps,
                             Pass& pass) const;
  void encode_by_messages(MessageGraph& graph, Pass& pass) const;
  void decode_by_messages(MessageGraph& graph, Pass& pass) const;

  TransformerOptions options_;
  VocabularyLayers vocabulary_;
  PositionEncodings positions_;
  UniversalEncoder encoder_;
  UniversalDecoder decoder_;
};

}  // namespace edgewise
