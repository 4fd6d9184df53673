// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/attention.h"
#include "edgewise/nn/feed_forward.h"
#include "edgewise/nn/sublayer.h"

// Shapes: N = nodes, M = size of a node's state, H = heads, V = size of a head's value.

namespace edgewise {

/// An encoder layer: self-attention and feed-forward, each within a Sublayer. `project_qkv` and `finish_layer` are the
/// parts in front of and behind the attention average, which fused attention or message passing computes.
struct EncoderLayer {
  MultiHeadAttention self_attention;
  FeedForward feed_forward;
  Sublayer self_sublayer;
  Sublayer feed_forward_sublayer;

  EncoderLayer() = default;
  EncoderLayer(const LayerOptions& options, RandomStream& random);

  /// Applies the norm in front of self-attention, if any, and projects to queries, keys and values.
  Projections project_qkv(const at::Tensor& x_NM, AttentionFields fields = AttentionFields::kAll) const;
  /// Finishes self-attention from its averages, and computes feed-forward.
  at::Tensor finish_layer(const at::Tensor& x_NM, const at::Tensor& average_NHV, Pass& pass) const;

  /// Make a NodeState from states [N, M], and map it to the next layer's; `next` is the next layer's first norm.
  NodeState begin(const at::Tensor& x_NM, const Pass& pass) const { return self_sublayer.begin(x_NM, pass); }
  NodeState operator()(const Relation& relation, const NodeState& state, const Norm& next, Pass& pass) const;
  NodeState finish_layer(const at::Tensor& x_NM, const at::Tensor& average_NHV, const Norm& next, Pass& pass) const {
    return apply_feed_forward(finish_attention(x_NM, average_NHV, pass), next, pass);
  }

  /// Finishes self-attention. Returns the state in front of feed-forward, whose input a caller can change.
  NodeState finish_attention(const at::Tensor& x_NM, const at::Tensor& average_NHV, Pass& pass) const;
  NodeState apply_feed_forward(const NodeState& state, const Norm& next, Pass& pass) const;

  /// Computes the whole layer: [N, M] to [N, M].
  at::Tensor operator()(const Relation& relation, const at::Tensor& x_NM, Pass& pass) const;

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

}  // namespace edgewise
