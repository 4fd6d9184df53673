// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "edgewise/message/message_graph.h"
#include "edgewise/nn/attention.h"
#include "edgewise/nn/module.h"

// Attention as the graph tutorial spells it out in messages: the definition of what MultiHeadAttention::average does at
// once. Node columns: "q", "k" and "v" go in, "wv" and "z" come out. Edge columns: "score", and "weight" where some are
// dropped.

namespace edgewise {

struct MessageAttentionOptions {
  std::optional<double> clamp;  // of scores, in place of subtracting the largest of a node
  double dropout = 0.0;         // of exponentiated scores, as far as they weigh values
  DropoutKey dropout_key;
};

/// <source's k, destination's q> · scale, in "score", [E, H, 1].
EdgeFunction dot_score(double scale);

/// <vector, tanh(destination's q + source's k)>, in "score", [E, H, 1].
EdgeFunction additive_score(const at::Tensor& vector_HK);

/// Along the given edges, and no others: scores them, exponentiates, and leaves at each destination the sum of its
/// values times scores in "wv" [N, H, V], and the sum of its scores in "z" [N, H, 1]. Both are zero wherever none of
/// these edges ends, whatever earlier calls left there.
void propagate_attention(MessageGraph& graph, const at::Tensor& edges, const EdgeFunction& score,
                         const MessageAttentionOptions& options = {});

/// The same with what a layer scores by, bounds and drops.
void propagate_attention(MessageGraph& graph, const at::Tensor& edges, const MultiHeadAttention& attention, Pass& pass);

/// "wv" / "z" of some nodes: their averages, [N, H, V]. Zeros for a node that no message reached.
at::Tensor averaged(const NodeBatch& nodes);

}  // namespace edgewise
