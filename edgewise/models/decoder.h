// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/models/encoder.h"
#include "edgewise/nn/transformer_layers.h"
#include "edgewise/options/transformer_options.h"

// Shapes: D = decoder nodes, S = encoder nodes, M = size of a node's state.

namespace edgewise {

/// The two attentions of a decoder layer, in the order in which they run.
enum class DecoderAttention { kSelf, kCross };

/// A stack of decoder layers, fused or as functions for update_graph, as in Encoder.
struct Decoder {
  std::vector<DecoderLayer> layers;
  Norm norm;  // after the last layer; the identity without final_norm

  Decoder() = default;
  Decoder(const TransformerOptions& options, RandomStream& random);

  /// Maps initial states [D, M] to final states [D, M].
  at::Tensor operator()(const Relation& decoder_decoder, const Relation& encoder_decoder, const at::Tensor& x_DM,
                        const at::Tensor& encoded_SM, Pass& pass) const;

  /// Computes "q", "k" and "v" from "x". For kCross, apply kQuery to decoder nodes and kKeyValue to encoder nodes,
  /// whose states are not normalised again.
  NodeFunction pre_func(std::int64_t layer, AttentionFields fields = AttentionFields::kAll,
                        DecoderAttention which = DecoderAttention::kSelf) const;
  AttentionFunction attention_func(std::int64_t layer, DecoderAttention which, Pass& pass) const;
  /// Computes the new "x" from "x", "wv" and "z". With kCross the function includes feed-forward and, after the last
  /// layer, the final norm.
  NodeFunction post_func(std::int64_t layer, DecoderAttention which, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("layers", self.layers);
    part("norm", self.norm);
  }
};

}  // namespace edgewise
