// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>
#include <vector>

#include "edgewise/message/message_graph.h"
#include "edgewise/nn/message_attention.h"

namespace edgewise {

/// A node function and the numbers of the nodes that it is applied to.
using NodeUpdate = std::pair<NodeFunction, at::Tensor>;

/// Runs attention by message passing along the given edges.
using AttentionFunction = std::function<void(MessageGraph& graph, const at::Tensor& edges)>;

/// Returns the attention of a layer as such a function. Layer and pass must outlive the function.
inline AttentionFunction attend_by_messages(const MultiHeadAttention& attention, Pass& pass) {
  return [&](MessageGraph& graph, const at::Tensor& edges) { propagate_attention(graph, edges, attention, pass); };
}

/// Applies `pre` to nodes, runs `attention` along `edges`, then applies `post` to nodes: one step of the graph
/// tutorial's models. Edges and nodes may be any subset of the graph's. The attention result of a node without edges is
/// zeros.
inline void update_graph(MessageGraph& graph, const at::Tensor& edges, const std::vector<NodeUpdate>& pre,
                         const std::vector<NodeUpdate>& post, const AttentionFunction& attention) {
  for (const auto& [function, nodes] : pre) graph.apply_nodes(function, nodes);
  attention(graph, edges);
  for (const auto& [function, nodes] : post) graph.apply_nodes(function, nodes);
}

}  // namespace edgewise
