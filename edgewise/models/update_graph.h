// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>
#include <vector>

#include "edgewise/message/message_graph.h"

namespace edgewise {

/// (function, nodes it is applied to).
using NodeStep = std::pair<NodeFunction, at::Tensor>;

/// Attention by messages along the given edges.
using AttentionStep = std::function<void(MessageGraph& graph, const at::Tensor& edges)>;

/// The graph tutorial's step of a model: runs `pre` on its nodes, `attention` along `edges`, `post` on its nodes. Any
/// subset of a graph's edges and nodes; a node that none of the edges reaches attends to nothing, and `post` finds
/// zeros.
inline void update_graph(MessageGraph& graph, const at::Tensor& edges, const std::vector<NodeStep>& pre,
                         const std::vector<NodeStep>& post, const AttentionStep& attention) {
  for (const auto& [function, nodes] : pre) graph.apply_nodes(function, nodes);
  attention(graph, edges);
  for (const auto& [function, nodes] : post) graph.apply_nodes(function, nodes);
}

}  // namespace edgewise
