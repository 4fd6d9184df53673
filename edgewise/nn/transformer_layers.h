// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/attention.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/module.h"
#include "edgewise/nn/ssru.h"
#include "edgewise/nn/sublayer.h"
#include "edgewise/options/layer_options.h"

// Shapes: N = nodes, D = decoder nodes, S = encoder nodes, M = size of a node's state, H = heads, V = size of a head's
// value.
namespace edgewise {

/// The position-wise feed-forward layer outer(dropout(activation(inner(x)))). With a gate (Shazeer 2020) the layer is
/// outer(dropout(activation(gate(x)) * inner(x))).
struct FeedForward {
  Linear gate;  // without parameters unless options.feed_forward_gate
  Linear inner;
  Linear outer;
  Activation activation = Activation::kRelu;
  double dropout = 0.0;  // rate for activations

  FeedForward() = default;
  FeedForward(const LayerOptions& options, RandomStream& random);

  /// Maps [..., M] to [..., M], M = size of a node's state.
  at::Tensor operator()(const at::Tensor& x, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("gate", self.gate);
    part("inner", self.inner);
    part("outer", self.outer);
  }
};

/// An encoder layer: self-attention and feed-forward, each within a Sublayer. `project_qkv` and `finish_layer` are the
/// parts before and after the attention average, which fused attention or message passing computes.
struct EncoderLayer {
  MultiHeadAttention self_attention;
  FeedForward feed_forward;
  Sublayer self_sublayer;
  Sublayer feed_forward_sublayer;

  EncoderLayer() = default;
  EncoderLayer(const LayerOptions& options, RandomStream& random);

  /// Applies the norm before self-attention, if any, and projects to queries, keys and values.
  Projections project_qkv(const at::Tensor& x_NM, AttentionFields fields = AttentionFields::kAll) const;
  /// Finishes self-attention from its averages, and computes feed-forward.
  at::Tensor finish_layer(const at::Tensor& x_NM, const at::Tensor& average_NHV, Pass& pass) const;

  /// Make a NodeState from states [N, M], and map it to the next layer's; `next` is the next layer's first norm.
  NodeState begin(const at::Tensor& x_NM, const Pass& pass) const { return self_sublayer.begin(x_NM, pass); }
  NodeState operator()(const AttentionEdges& edges, const NodeState& state, const Norm& next, Pass& pass) const;
  NodeState finish_layer(const at::Tensor& x_NM, const at::Tensor& average_NHV, const Norm& next, Pass& pass) const {
    return apply_feed_forward(finish_attention(x_NM, average_NHV, pass), next, pass);
  }

  /// Finishes self-attention. Returns the state before feed-forward, whose input a caller can change.
  NodeState finish_attention(const at::Tensor& x_NM, const at::Tensor& average_NHV, Pass& pass) const;
  NodeState apply_feed_forward(const NodeState& state, const Norm& next, Pass& pass) const;

  /// Computes the whole layer: [N, M] to [N, M].
  at::Tensor operator()(const AttentionEdges& edges, const at::Tensor& x_NM, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("self_attention_norm", self.self_sublayer.norm);
    part("self_attention", self.self_attention);
    part("feed_forward_norm", self.feed_forward_sublayer.norm);
    part("feed_forward", self.feed_forward);
  }
};

/// Builds the encoder-only block of the from-scratch note (docs/sources.md): norms after the sums, a feed-forward layer
/// of 4 · size, no dropout.
EncoderLayer transformer_block(std::int64_t size, std::int64_t heads, RandomStream& random);

/// A decoder layer: self-attention or an SSRU, cross-attention to the encoder's output, and feed-forward, each within a
/// Sublayer. As in EncoderLayer, each part before or after an attention average has its own function.
struct DecoderLayer {
  MultiHeadAttention self_attention;  // without parameters if the SSRU is on
  Ssru ssru;
  MultiHeadAttention cross_attention;
  FeedForward feed_forward;
  Sublayer self_sublayer;
  Sublayer cross_sublayer;
  Sublayer feed_forward_sublayer;

  DecoderLayer() = default;
  DecoderLayer(const LayerOptions& options, RandomStream& random);

  /// Applies the norm before self-attention, if any, and projects to queries, keys and values.
  Projections project_self_qkv(const at::Tensor& x_DM, AttentionFields fields = AttentionFields::kAll) const;
  /// Finishes self-attention from its averages: output projection, dropout, residual connection, norm.
  at::Tensor finish_self_attention(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const;

  /// Finishes the SSRU from its cells, [D, M], likewise.
  at::Tensor finish_ssru(const at::Tensor& x_DM, const at::Tensor& cell_DM, Pass& pass) const;

  /// Projects decoder nodes to queries of cross-attention, or encoder nodes to its keys and values. Only queries pass
  /// through a norm; the encoder's output is normalised already.
  Projections project_cross_qkv(const at::Tensor& x_NM, AttentionFields fields) const;
  /// Finishes cross-attention from its averages, and computes feed-forward.
  at::Tensor finish_layer(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const;

  /// Make a NodeState from states [D, M], and map it to the next layer's; `next` is the next layer's first norm.
  NodeState begin(const at::Tensor& x_DM, const Pass& pass) const { return self_sublayer.begin(x_DM, pass); }
  NodeState operator()(const AttentionEdges& decoder_decoder, const AttentionEdges& encoder_decoder,
                       const NodeState& state, const at::Tensor& encoded_SM, const Norm& next, Pass& pass) const;

  /// Returns the result of the first sublayer's function, self-attention or SSRU, for its input [D, M].
  at::Tensor mix(const AttentionEdges& decoder_decoder, const at::Tensor& input_DM, Pass& pass) const;
  /// Adds the result of the first sublayer's function, and computes cross-attention; `encoder_kv` has the keys and
  /// values of the encoder nodes. Returns the state before feed-forward, so that a caller can change feed-forward's
  /// input.
  NodeState attend_encoder(const AttentionEdges& encoder_decoder, const at::Tensor& x_DM, const at::Tensor& mixed_DM,
                           const Projections& encoder_kv, Pass& pass) const;
  NodeState finish_cross_attention(const at::Tensor& x_DM, const at::Tensor& cross_average_DHV, Pass& pass) const;
  NodeState apply_feed_forward(const NodeState& state, const Norm& next, Pass& pass) const;

  /// Computes the whole layer: [D, M] to [D, M].
  at::Tensor operator()(const AttentionEdges& decoder_decoder, const AttentionEdges& encoder_decoder,
                        const at::Tensor& x_DM, const at::Tensor& encoded_SM, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    if (self.ssru.is_on()) {
      part("ssru_norm", self.self_sublayer.norm);
      part("ssru", self.ssru);
    } else {
      part("self_attention_norm", self.self_sublayer.norm);
      part("self_attention", self.self_attention);
    }
    part("cross_attention_norm", self.cross_sublayer.norm);
    part("cross_attention", self.cross_attention);
    part("feed_forward_norm", self.feed_forward_sublayer.norm);
    part("feed_forward", self.feed_forward);
  }
};

}  // namespace edgewise
