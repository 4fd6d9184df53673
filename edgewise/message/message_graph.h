// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <vector>

#include "edgewise/graph/graph.h"
#include "edgewise/message/frame.h"
#include "edgewise/message/functions.h"

// Message passing as the graph tutorial writes it: functions over batches of nodes and edges, messages along edges, and
// reductions at their destinations. This is the definition that fused attention is held to, not the fast way.

namespace edgewise {

/// A graph with tensors on its nodes and edges.
///
///     MessageGraph g(pool.pair({9, 10}));
///     g.ndata().set("x", …);
///     g.apply_nodes(project);  // x to q, k, v
///     g.apply_edges(u_dot_v("k", "q", "score"), g.edges("ee"));
///     g.send_and_recv(g.edges("ee"), {u_mul_e("v", "score", "v"), copy_e("score", "score")},
///                     {sum("v", "wv"), sum("score", "z")}, normalize);
///
/// Node and edge numbers are those of the Graph, as int64 tensors on the CPU, each number once; no numbers given means
/// all. What a function returns has one row a node (edge) of its batch. New columns are zero where nothing was written.
/// Messages and reductions are computed from the columns as they were before the call, then written, so one that throws
/// has changed nothing. Differentiable by autograd, and the same bits each time.
///
/// The lists of edge ends are made when they are first needed: O(edges). Not for several threads at once. Copies share
/// their columns until one of them writes.
class MessageGraph {
 public:
  explicit MessageGraph(Graph graph);

  const Graph& graph() const { return graph_; }
  Frame& ndata() { return ndata_; }
  const Frame& ndata() const { return ndata_; }
  Frame& edata() { return edata_; }
  const Frame& edata() const { return edata_; }

  at::Tensor nodes(std::string_view set) const;       // numbers of a set's nodes, int64
  at::Tensor edges(std::string_view relation) const;  // numbers of a relation's edges, int64

  void apply_nodes(const NodeFunction& function, const std::optional<at::Tensor>& nodes = std::nullopt);
  void apply_edges(const Message& function, const std::optional<at::Tensor>& edges = std::nullopt);

  /// Sends every message along the given edges, in ascending order whatever order they are given in, and at each
  /// destination reduces what arrived. A node that no given edge reaches keeps what it had in the columns written, or
  /// has zero when they are new. A reduce function is called once for each in-degree. `node_function`, if any, is then
  /// applied to the destinations reached.
  void send_and_recv(const at::Tensor& edges, const std::vector<Message>& messages,
                     const std::vector<Reduction>& reductions, const NodeFunction& node_function = nullptr);

  /// The same over all edges.
  void update_all(const std::vector<Message>& messages, const std::vector<Reduction>& reductions,
                  const NodeFunction& node_function = nullptr);

  /// Those of the nodes (edges) for which the predicate holds, in their order.
  at::Tensor filter_nodes(const NodePredicate& predicate, const std::optional<at::Tensor>& nodes = std::nullopt) const;
  at::Tensor filter_edges(const EdgePredicate& predicate, const std::optional<at::Tensor>& edges = std::nullopt) const;

 private:
  struct Ends {
    at::Tensor sources;       // [E] node numbers, in the order of the edges
    at::Tensor destinations;  // [E]
  };

  const Ends& ends() const;
  EdgeBatch batch_of(const Rows& edges) const;
  void pass(std::string_view caller, const Rows& edges, const std::vector<Message>& messages,
            const std::vector<Reduction>& reductions, const NodeFunction& node_function);

  Graph graph_;
  Frame ndata_;
  Frame edata_;
  mutable std::optional<Ends> ends_;
};

}  // namespace edgewise
