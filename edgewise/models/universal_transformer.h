// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/models/thinking.h"
#include "edgewise/models/word_ends.h"
#include "edgewise/nn/decoder_layer.h"
#include "edgewise/nn/encoder_layer.h"
#include "edgewise/nn/neighbour_filter.h"
#include "edgewise/nn/positions.h"
#include "edgewise/ops/projected_loss.h"
#include "edgewise/options/transformer_options.h"

// Shapes: S = encoder nodes, D = decoder nodes, M = size of a node's state, C = output vocabulary.

namespace edgewise {

/// Encoder or decoder: one layer that is applied again and again, up to `encoder_layers` or `decoder_layers` times.
template <class Layer>
struct UniversalSide {
  Layer layer;
  NeighbourFilter filter;  // before feed-forward, if transitions are separable convolutions
  HaltingUnit halting;     // a node halts after all attention of a step
  Norm norm;               // of the weighted mean of states, if at all

  UniversalSide() = default;
  /// `reach` is the filter's.
  UniversalSide(const TransformerOptions& options, Reach reach, RandomStream& random);

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("layer", self.layer);
    part("filter", self.filter);
    part("halting", self.halting);
    part("norm", self.norm);
  }
};
using UniversalEncoder = UniversalSide<EncoderLayer>;
using UniversalDecoder = UniversalSide<DecoderLayer>;

/// The Universal Transformer (Dehghani et al. 2019) with adaptive computation time: each node decides how many steps it
/// thinks, and only those that still think are computed.
class UniversalTransformer {
 public:
  /// Parameters are fp32 leaves, a function of options and seed. Throws Error for options that do not fit together.
  UniversalTransformer(const TransformerOptions& options, std::uint64_t seed);

  const TransformerOptions& options() const { return options_; }
  const UniversalEncoder& encoder() const { return encoder_; }
  const UniversalDecoder& decoder() const { return decoder_; }

  // --- fused, on compacted rows: what training and decoding use.
  /// What nodes came to: states behind the final norm, [S, M] and [D, M].
  Thought encode(const Batch& batch, Pass& pass) const;
  Thought decode(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const;
  at::Tensor forward(const Batch& batch, Pass& pass) const;  // logits [D, C]

  /// A part of `decode`: what nodes come to whose first states are x, with a layer of the caller's.
  Thought think_of_output(const at::Tensor& x_DM, const StepSignals& signals, ThinkingLayer& layer, Pass& pass) const;
  const WordEnds& words() const { return words_; }
  const Positions& positions() const { return positions_; }

  struct Loss {
    ProjectedLoss of_words;
    at::Tensor sum;  // that of words, and the ponder cost by its weight; scalar, summed over labels
    std::vector<std::int64_t> encoder_steps;  // of each node
    std::vector<std::int64_t> decoder_steps;
  };
  /// With `rdrop` above 0 that of projected_rdrop_loss, of a batch that has its sentences twice.
  Loss loss(const Batch& batch, const LossOptions& options, double rdrop, Pass& pass) const;

  // --- by message passing, with filters: the definition, as the graph tutorial has it.
  /// `graph` holds the batch's graph. Afterwards node column "step" says how many steps each node took, and "r" its
  /// remainder. With equal passes that drop nothing it equals `forward`.
  at::Tensor forward_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const;  // logits [D, C]

  // The tutorial's functions, for update_graph.
  /// To "x" adds the signals of "pos" and "step", and counts the step.
  NodeFunction step_forward(Pass& pass) const;
  /// From "x" to "p", "sum_p", "r", "s" and "active", by Ponder's algebra. `is_last` halts all.
  NodeFunction halt_and_accum(const HaltingUnit& halting, bool is_last) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("input_embedding", self.words_.input_embedding);
    part("output_embedding", self.words_.output_embedding);
    part("encoder", self.encoder_);
    part("decoder", self.decoder_);
    part("generator", self.words_.generator);
  }

 private:
  struct Steps;

  /// `layer` applies that of `side`.
  template <class Layer>
  Thought think_and_norm(std::int64_t most_steps, bool adapts, const at::Tensor& x_NM, const StepSignals& signals,
                         const UniversalSide<Layer>& side, ThinkingLayer& layer, Pass& pass) const;
  at::Tensor ponder_cost(const Thought& encoded, const Thought& decoded, std::int64_t num_labels) const;
  void start_thinking(MessageGraph& graph, const Batch& batch) const;
  template <class Layer>
  void think_by_messages(MessageGraph& graph, const UniversalSide<Layer>& side, const Steps& steps, Pass& pass) const;
  template <class Layer>
  NodeFunction show_halted(const UniversalSide<Layer>& side, std::int64_t step, Pass& pass) const;
  void encode_by_messages(MessageGraph& graph, Pass& pass) const;
  void decode_by_messages(MessageGraph& graph, Pass& pass) const;

  TransformerOptions options_;
  WordEnds words_;
  Positions positions_;
  UniversalEncoder encoder_;
  UniversalDecoder decoder_;
};

}  // namespace edgewise
