// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/graph/graph.h"
#include "edgewise/message/edge_selection.h"
#include "edgewise/message/frame.h"
#include "edgewise/message/functions.h"

// Message passing in the terms of DGL's tutorial "Transformer as a Graph Neural Network" (docs/sources.md): functions
// over batches of nodes and edges, messages along edges, reductions at destinations. Message passing defines fused
// attention, which is faster still. A call computes the nodes and edges that it selects, and copies each column of
// which it writes a part. It throws Error, whose text begins with its name, for numbers, columns and results of
// functions that do not fit.
//
// Shapes: a column is [nodes, …] or [edges, …], in the order of the graph's numbers.
namespace edgewise {

/// A graph with tensors on its nodes and edges.
///
///     MessageGraph g(make_pair_graph({9, 10}));
///     g.ndata().set("x", …);
///     g.apply_nodes(project);  // x to q, k, v
///     g.apply_edges(u_dot_v("k", "q", "score"), g.edges("ee"));
///     g.send_and_recv(g.edges("ee"), {u_mul_e("v", "score", "v"), copy_e("score", "score")},
///                     {sum("v", "wv"), sum("score", "z")}, normalize);
///
/// Calls select nodes and edges by their numbers in the Graph: distinct numbers in int64 tensors on the CPU. Calls
/// without numbers select all. A function returns one row for each node (edge) of its batch. A new column is zero in
/// rows that are not written. Messages and reductions read the columns from before the call and are written together. A
/// call that throws leaves all columns as they were before. Differentiable; results have the same bits in every run.
///
/// Built-in messages with built-in reductions are one pass over the selected edges (functions.h). What a call derives
/// from all edges or from edges() of a relation is kept; for other numbers, it takes O(nodes + selected edges · log).
/// Functions of the user get their edges in the order of the selection, or, with a reduce function, in an order in
/// which the messages of each node follow each other. Not thread-safe. Copies share columns until a write.
class MessageGraph {
 public:
  explicit MessageGraph(Graph graph);

  const Graph& graph() const { return graph_; }
  Frame& ndata() { return ndata_; }
  const Frame& ndata() const { return ndata_; }
  Frame& edata() { return edata_; }
  const Frame& edata() const { return edata_; }

  at::Tensor nodes(std::string_view set) const;       // int64 numbers of the nodes of a set
  at::Tensor edges(std::string_view relation) const;  // int64 numbers of the edges of a relation, ascending

  void apply_nodes(const NodeFunction& function, const std::optional<at::Tensor>& nodes = std::nullopt);
  void apply_edges(const Message& function, const std::optional<at::Tensor>& edges = std::nullopt);

  /// Writes to the edge column `out` the softmax of the edge column `score`, [E, …] in fp32, fp64 or bf16, over the
  /// given edges into each destination, for each element of a row.
  void edge_softmax(std::string_view score, std::string_view out,
                    const std::optional<at::Tensor>& edges = std::nullopt);

  /// Sends every message along the given edges, in ascending order of their numbers, and reduces the messages at each
  /// destination. A node without messages keeps its values in existing columns and gets zeros in new columns. Calls a
  /// reduce function once for each in-degree. Then applies `node_function`, if given, to the nodes with messages.
  void send_and_recv(const at::Tensor& edges, const std::vector<Message>& messages,
                     const std::vector<Reduction>& reductions, const NodeFunction& node_function = nullptr);

  /// Sends every message along all edges, as send_and_recv() does, and writes each column at all nodes: a node without
  /// messages gets zeros. Then applies `node_function`, if given, to all nodes.
  void update_all(const std::vector<Message>& messages, const std::vector<Reduction>& reductions,
                  const NodeFunction& node_function = nullptr);

  /// Returns the numbers of the given nodes (edges) for which the predicate holds, in the given order.
  at::Tensor filter_nodes(const NodePredicate& predicate, const std::optional<at::Tensor>& nodes = std::nullopt) const;
  at::Tensor filter_edges(const EdgePredicate& predicate, const std::optional<at::Tensor>& edges = std::nullopt) const;

 private:
  /// Calls `change`. If it throws, restores all columns, also those that a function of the user wrote.
  template <class Change>
  void change_or_restore(Change change);

  using Selection = std::shared_ptr<const EdgeSelection>;
  const Selection& all_edges() const;
  /// Selects edges by number, or all. Throws Error, with `caller` in the message, unless the numbers are distinct.
  Selection select(const std::optional<at::Tensor>& edges, std::string_view caller) const;

  /// Returns node columns [N, …].
  Columns reduce(std::string_view caller, const EdgeSelection& edges, const std::vector<Message>& messages,
                 const std::vector<Reduction>& reductions) const;
  /// Writes columns at `nodes`, and applies `node_function` to them unless it is empty.
  void finish(std::string_view caller, const Rows& nodes, const Columns& reduced, const NodeFunction& node_function);

  Graph graph_;
  Frame ndata_;
  Frame edata_;
  /// The edges of a relation, whose numbers the user has.
  struct KeptRelation {
    at::Tensor numbers;
    std::uint32_t version;  // changes when the user changes `numbers`
    Selection edges;
  };
  mutable Selection all_edges_;
  mutable std::map<std::string, KeptRelation, std::less<>> relations_;
};

}  // namespace edgewise
