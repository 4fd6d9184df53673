// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/attention.h"
#include "edgewise/nn/feed_forward.h"
#include "edgewise/nn/sublayer.h"

// Shapes: N = nodes, M = size of a node's state, H = heads, V = size of a head's value.

namespace edgewise {

/// Self-attention, then feed-forward, each within a Sublayer. The two halves are what lies before and behind attention;
/// between them the fused and the message-passing form differ, and nowhere else.
struct EncoderLayer {
  MultiHeadAttention self_attention;
  FeedForward feed_forward;
  Sublayer self_sublayer;
  Sublayer feed_forward_sublayer;

  EncoderLayer() = default;
  EncoderLayer(const LayerOptions& options, RandomStream& random);

  Projections before_attention(const at::Tensor& x_NM, AttentionFields fields = AttentionFields::kAll) const;
  at::Tensor after_attention(const at::Tensor& x_NM, const at::Tensor& average_NHV, Pass& pass) const;

  /// A first state of [N, M], then from state to state; `next` is the norm through which the result is read.
  NodeState begin(const at::Tensor& x_NM, const Pass& pass) const { return self_sublayer.begin(x_NM, pass); }
  NodeState operator()(const Relation& relation, const NodeState& state, const Norm& next, Pass& pass) const;
  NodeState after_attention(const at::Tensor& x_NM, const at::Tensor& average_NHV, const Norm& next, Pass& pass) const {
    return fed(attended(x_NM, average_NHV, pass), next, pass);
  }

  /// The two sublayers' ends, for who changes what feed-forward reads.
  NodeState attended(const at::Tensor& x_NM, const at::Tensor& average_NHV, Pass& pass) const;
  NodeState fed(const NodeState& attended, const Norm& next, Pass& pass) const;

  /// The layer alone: [N, M] to [N, M].
  at::Tensor operator()(const Relation& relation, const at::Tensor& x_NM, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("self_attention_norm", self.self_sublayer.norm);
    part("self_attention", self.self_attention);
    part("feed_forward_norm", self.feed_forward_sublayer.norm);
    part("feed_forward", self.feed_forward);
  }
};

/// The from-scratch document's encoder-only block: norms after the sums, a feed-forward four times as wide, no dropout.
EncoderLayer transformer_block(std::int64_t size, std::int64_t heads, RandomStream& random);

}  // namespace edgewise
