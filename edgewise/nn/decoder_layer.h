// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/attention.h"
#include "edgewise/nn/feed_forward.h"
#include "edgewise/nn/sublayer.h"

// Shapes: D = decoder nodes, S = encoder nodes, N = D or S, M = size of a node's state, H = heads, V = value size.

namespace edgewise {

/// A decoder layer: self-attention, cross-attention to the encoder's output, and feed-forward, each within a Sublayer.
/// As in EncoderLayer, each part in front of or behind an attention average has its own function.
struct DecoderLayer {
  MultiHeadAttention self_attention;
  MultiHeadAttention cross_attention;
  FeedForward feed_forward;
  Sublayer self_sublayer;
  Sublayer cross_sublayer;
  Sublayer feed_forward_sublayer;

  DecoderLayer() = default;
  DecoderLayer(const LayerOptions& options, RandomStream& random);

  /// Applies the norm in front of self-attention, if any, and projects to queries, keys and values.
  Projections project_self_qkv(const at::Tensor& x_DM, AttentionFields fields = AttentionFields::kAll) const;
  /// Finishes self-attention from its averages: output projection, dropout, residual connection, norm.
  at::Tensor finish_self_attention(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const;

  /// Projects decoder nodes to queries of cross-attention, or encoder nodes to its keys and values. Only queries pass
  /// through a norm; the encoder's output is normalised already.
  Projections project_cross_qkv(const at::Tensor& x_NM, AttentionFields fields) const;
  /// Finishes cross-attention from its averages, and computes feed-forward.
  at::Tensor finish_layer(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const;

  /// Make a NodeState from states [D, M], and map it to the next layer's; `next` is the next layer's first norm.
  NodeState begin(const at::Tensor& x_DM, const Pass& pass) const { return self_sublayer.begin(x_DM, pass); }
  NodeState operator()(const Relation& decoder_decoder, const Relation& encoder_decoder, const NodeState& state,
                       const at::Tensor& encoded_SM, const Norm& next, Pass& pass) const;

  /// Finishes self-attention from its averages, and computes cross-attention; `encoder_kv` has the keys and values of
  /// the encoder nodes. Returns the state in front of feed-forward, so that a caller can change feed-forward's input.
  NodeState attend_encoder(const Relation& encoder_decoder, const at::Tensor& x_DM, const at::Tensor& self_average_DHV,
                           const Projections& encoder_kv, Pass& pass) const;
  NodeState finish_cross_attention(const at::Tensor& x_DM, const at::Tensor& cross_average_DHV, Pass& pass) const;
  NodeState apply_feed_forward(const NodeState& state, const Norm& next, Pass& pass) const;

  /// Computes the whole layer: [D, M] to [D, M].
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
