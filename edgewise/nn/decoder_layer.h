// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/attention.h"
#include "edgewise/nn/feed_forward.h"
#include "edgewise/nn/sublayer.h"

// Shapes: D = decoder nodes, S = encoder nodes, N = either, M = size of a node's state, H = heads, V = size of a head's
// value.

namespace edgewise {

/// Self-attention, attention to what the encoder made, then feed-forward, each within a Sublayer. In parts, as
/// EncoderLayer is.
struct DecoderLayer {
  MultiHeadAttention self_attention;
  MultiHeadAttention cross_attention;
  FeedForward feed_forward;
  Sublayer self_sublayer;
  Sublayer cross_sublayer;
  Sublayer feed_forward_sublayer;

  DecoderLayer() = default;
  DecoderLayer(const LayerOptions& options, RandomStream& random);

  Projections before_self(const at::Tensor& x_DM, AttentionFields fields = AttentionFields::kAll) const;
  at::Tensor after_self(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const;

  /// Queries of decoder nodes, or keys and values of encoder nodes, whose states are read as they are: the encoder ends
  /// with a norm.
  Projections before_cross(const at::Tensor& x_NM, AttentionFields fields) const;
  at::Tensor after_cross(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const;

  /// A first state of [D, M], then from state to state; `next` is the norm through which the result is read.
  NodeState begin(const at::Tensor& x_DM, const Pass& pass) const { return self_sublayer.begin(x_DM, pass); }
  NodeState operator()(const Relation& decoder_decoder, const Relation& encoder_decoder, const NodeState& state,
                       const at::Tensor& encoded_SM, const Norm& next, Pass& pass) const;

  /// The rest of the layer behind self-attention: `memory` are the keys and values of encoder nodes.
  NodeState after_self(const Relation& encoder_decoder, const at::Tensor& x_DM, const at::Tensor& heard_DHV,
                       const Projections& memory, const Norm& next, Pass& pass) const {
    return fed(attended(encoder_decoder, x_DM, heard_DHV, memory, pass), next, pass);
  }

  /// Both attentions' end and feed-forward's, for who changes what the latter reads.
  NodeState attended(const Relation& encoder_decoder, const at::Tensor& x_DM, const at::Tensor& heard_DHV,
                     const Projections& memory, Pass& pass) const;
  NodeState attended(const at::Tensor& x_DM, const at::Tensor& seen_DHV, Pass& pass) const;
  NodeState fed(const NodeState& attended, const Norm& next, Pass& pass) const;

  /// The layer alone: [D, M] to [D, M].
  at::Tensor operator()(const Relation& decoder_decoder, const Relation& encoder_decoder, const at::Tensor& x_DM,
                        const at::Tensor& encoded_SM, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("self_attention_norm", self.self_sublayer.norm);
    part("self_attention", self.self_attention);
    part("cross_attention_norm", self.cross_sublayer.norm);
    part("cross_attention", self.cross_attention);
    part("feed_forward_norm", self.feed_forward_sublayer.norm);
    part("feed_forward", self.feed_forward);
  }
};

}  // namespace edgewise
