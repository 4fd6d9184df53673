// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/models/encoder.h"
#include "edgewise/nn/decoder_layer.h"
#include "edgewise/options/transformer_options.h"

// Shapes: D = decoder nodes, S = encoder nodes, M = size of a node's state.

namespace edgewise {

/// The two attentions of a decoder layer, in the order in which they run.
enum class DecoderAttention { kSelf, kCross };

/// Layers of self-attention and attention to the encoder; in two ways, as Encoder.
struct Decoder {
  std::vector<DecoderLayer> layers;
  Norm norm;  // behind the last layer, if at all

  Decoder() = default;
  Decoder(const TransformerOptions& options, RandomStream& random);

  /// [D, M] to [D, M].
  at::Tensor operator()(const Relation& decoder_decoder, const Relation& encoder_decoder, const at::Tensor& x_DM,
                        const at::Tensor& encoded_SM, Pass& pass) const;

  /// From "x" to "q", "k" and "v". For kCross: kQuery is for decoder nodes, kKeyValue for encoder nodes, whose states
  /// are read as they are.
  NodeFunction pre_func(std::int64_t layer, AttentionFields fields = AttentionFields::kAll,
                        DecoderAttention which = DecoderAttention::kSelf) const;
  AttentionStep attention_func(std::int64_t layer, DecoderAttention which, Pass& pass) const;
  /// From "x", "wv" and "z" to "x"; kCross has the rest of the layer too, and of the last one the final norm.
  NodeFunction post_func(std::int64_t layer, DecoderAttention which, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("layers", self.layers);
    part("norm", self.norm);
  }
};

}  // namespace edgewise
