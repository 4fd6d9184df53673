// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "edgewise/graph/graph.h"
#include "edgewise/message/frame.h"

// Message passing as the graph tutorial writes it: functions over batches of nodes and edges, messages along edges, and
// reductions at their destinations. Node and edge numbers are those of the Graph, as int64 tensors. All differentiable.

namespace edgewise {

/// What a function returns: the columns to write.
using Columns = std::map<std::string, at::Tensor>;

/// The nodes that a function is applied to.
class NodeBatch {
 public:
  const at::Tensor& nodes() const;            // [N] their numbers
  at::Tensor data(std::string_view) const;    // [N, …] a node column
  /// [N, in-degree, …]: the messages that a reduce function found in its nodes' mailboxes; all its nodes have the same
  /// number of them. By ascending edge number.
  at::Tensor mailbox(std::string_view) const;
  // …
};

/// The edges that a function is applied to.
class EdgeBatch {
 public:
  const at::Tensor& edges() const;             // [E] their numbers
  at::Tensor source(std::string_view) const;       // [E, …] a node column, gathered at the sources
  at::Tensor destination(std::string_view) const;  // [E, …] gathered at the destinations
  at::Tensor data(std::string_view) const;         // [E, …] an edge column
  // …
};

using NodeFunction = std::function<Columns(const NodeBatch&)>;
using EdgeFunction = std::function<Columns(const EdgeBatch&)>;
using NodePredicate = std::function<at::Tensor(const NodeBatch&)>;  // bool [N]
using EdgePredicate = std::function<at::Tensor(const EdgeBatch&)>;  // bool [E]

// Built-in messages: u is the source, v the destination, e the edge.
struct BuiltinMessage { /* kind, fields, out */ };
BuiltinMessage u_mul_e(std::string source, std::string edge, std::string out);
BuiltinMessage u_add_v(std::string source, std::string destination, std::string out);
BuiltinMessage u_dot_v(std::string source, std::string destination, std::string out);  // over the last dimension, kept as 1
BuiltinMessage copy_u(std::string source, std::string out);
BuiltinMessage copy_e(std::string edge, std::string out);

// Built-in reductions of a message to a node column.
struct BuiltinReduction { /* kind, message, out */ };
BuiltinReduction sum(std::string message, std::string out);
BuiltinReduction mean(std::string message, std::string out);
BuiltinReduction max(std::string message, std::string out);

/// A built-in, or a function of the user's.
using Message = std::variant<BuiltinMessage, EdgeFunction>;
using Reduction = std::variant<BuiltinReduction, NodeFunction>;

/// A graph with tensors on its nodes and edges.
class MessageGraph {
 public:
  explicit MessageGraph(Graph graph);

  const Graph& graph() const;
  Frame& ndata();
  Frame& edata();

  at::Tensor nodes(std::string_view set) const;      // numbers of a set's nodes, int64
  at::Tensor edges(std::string_view relation) const;  // numbers of a relation's edges, int64

  void apply_nodes(const NodeFunction& function, const std::optional<at::Tensor>& nodes = std::nullopt);
  void apply_edges(const Message& function, const std::optional<at::Tensor>& edges = std::nullopt);

  /// Sends every message along the given edges, and at each destination reduces what arrived. A node that no given edge
  /// reaches keeps what it had in the columns written, or has zero when they are new. `node_function`, if any, is then
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
  // …
};

}  // namespace edgewise
