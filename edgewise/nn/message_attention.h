// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>

#include "edgewise/message/message_graph.h"
#include "edgewise/nn/attention.h"
#include "edgewise/nn/module.h"
#include "edgewise/ops/dropout.h"

// Attention by message passing, as in the graph tutorial (docs/sources.md): the definition of
// MultiHeadAttention::average. Reads node columns "q", "k" and "v", writes node columns "wv" and "z", and edge columns
// "score" and, with dropout, "weight".
namespace edgewise {

struct MessageAttentionOptions {
  double scale = 1.0;  // factor of scores, above 0
  /// Bounds scaled scores to [-clamp, clamp], instead of subtracting the maximum of a node.
  std::optional<double> clamp = {};
  double dropout = 0.0;  // rate for the weights of values; "z" sums scores without dropout
  DropoutKey dropout_key = {};
};

/// Writes <vector, tanh(q of the destination + k of the source)> to "score": [E, H, 1].
EdgeFunction additive_score(const at::Tensor& vector_HK);

/// Computes and exponentiates the scores of the given edges; `score` writes "score" [E, H, 1], as the built-in message
/// u_dot_v("k", "q", "score") does. At each destination, writes the sum of exponentiated score times value to "wv"
/// [N, H, V], and the sum of exponentiated scores to "z" [N, H, 1]. A node into which no given edge leads gets zeros.
/// Discards the results of earlier calls.
void propagate_attention(MessageGraph& graph, const at::Tensor& edges, const Message& score,
                         const MessageAttentionOptions& options = {});

/// Returns what is added to the scores of edges: [E, H], for their distances [E] in int64.
using DistanceBias = std::function<at::Tensor(const at::Tensor& distance_E)>;

/// Uses the score function, clamp and dropout of a layer. With a `bias`, whose scores must be dot products, reads the
/// node column "position", [N] in int64.
void propagate_attention(MessageGraph& graph, const at::Tensor& edges, const MultiHeadAttention& attention, Pass& pass,
                         const DistanceBias& bias = nullptr);

/// Returns "wv" / "z", the averages of the values: [N, H, V]. A node without messages gets zeros.
at::Tensor compute_averages(const NodeBatch& nodes);

}  // namespace edgewise
