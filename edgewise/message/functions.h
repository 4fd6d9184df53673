// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "edgewise/message/frame.h"
#include "edgewise/message/mailboxes.h"
#include "edgewise/message/rows.h"

// User functions over batches of nodes and edges, and the built-in messages and reductions. builtins.cc makes and
// computes the built-ins.

namespace edgewise {

/// The columns that a function returns, to be written to a frame.
using Columns = std::map<std::string, at::Tensor>;

/// The nodes that a function is applied to: a view, valid during the call.
class NodeBatch {
 public:
  NodeBatch(const Frame& frame, Rows nodes);
  NodeBatch(const Frame& frame, Rows nodes, const Columns& messages, const Mailboxes::Bucket& bucket);

  std::int64_t size() const { return nodes_.size(); }
  const at::Tensor& nodes() const { return nodes_.numbers(); }  // [N] node numbers

  /// Returns a node column: [N, …].
  at::Tensor data(std::string_view name) const;

  /// Returns the messages that the nodes received, [N, in-degree, …], by ascending edge number; all nodes of the batch
  /// have the same in-degree. Throws Error, which lists the existing messages, when the message is missing, and outside
  /// of a reduce function.
  at::Tensor mailbox(std::string_view name) const;

 private:
  const Frame* frame_;
  Rows nodes_;
  const Columns* messages_ = nullptr;
  const Mailboxes::Bucket* bucket_ = nullptr;
};

/// The edges that a function is applied to: a view, valid during the call. Gathers a column only when it is read.
class EdgeBatch {
 public:
  EdgeBatch(const Frame& node_frame, const Frame& edge_frame, Rows edges, at::Tensor sources, at::Tensor destinations);

  std::int64_t size() const { return edges_.size(); }
  const at::Tensor& edges() const { return edges_.numbers(); }      // [E] edge numbers
  const at::Tensor& sources() const { return sources_; }            // [E] node numbers
  const at::Tensor& destinations() const { return destinations_; }  // [E] node numbers
  at::Tensor source(std::string_view name) const;                   // [E, …] a node column at the sources
  at::Tensor destination(std::string_view name) const;              // [E, …] a node column at the destinations
  at::Tensor data(std::string_view name) const;                     // [E, …] an edge column

 private:
  const Frame* node_frame_;
  const Frame* edge_frame_;
  Rows edges_;
  at::Tensor sources_;
  at::Tensor destinations_;
};

// A function is also called when no node or edge is selected, with an empty batch, so that its columns are created.
using NodeFunction = std::function<Columns(const NodeBatch&)>;
using EdgeFunction = std::function<Columns(const EdgeBatch&)>;
using NodePredicate = std::function<at::Tensor(const NodeBatch&)>;  // bool [N]
using EdgePredicate = std::function<at::Tensor(const EdgeBatch&)>;  // bool [E]

/// A built-in message, named as in DGL: u is the source, v the destination, e the edge. The rows of two operands are
/// broadcast: their dimensions are aligned at the last, and have sizes that are equal or 1. Score [E, H, 1] · value
/// [E, H, K] scales the values of each head, [E, K] · [E, H, K] those of all heads.
struct BuiltinMessage {
  enum class Kind { kSourceTimesEdge, kSourcePlusDestination, kSourceDotDestination, kCopySource, kCopyEdge };

  Kind kind = Kind::kCopySource;
  std::string left;   // source column, or edge column with kCopyEdge
  std::string right;  // edge or destination column; empty with kCopySource and kCopyEdge
  std::string out;
};
BuiltinMessage u_mul_e(std::string source, std::string edge, std::string out);
BuiltinMessage u_add_v(std::string source, std::string destination, std::string out);
/// Sums the products over the last dimension, which becomes 1: [E, H, K] and [E, H, K] give [E, H, 1].
BuiltinMessage u_dot_v(std::string source, std::string destination, std::string out);
BuiltinMessage copy_u(std::string source, std::string out);
BuiltinMessage copy_e(std::string edge, std::string out);

/// A built-in reduction of a message to a node column, in edge order: the bits do not depend on the number of threads.
struct BuiltinReduction {
  enum class Kind { kSum, kMean, kMax };

  Kind kind = Kind::kSum;
  std::string message;
  std::string out;
};
BuiltinReduction sum(std::string message, std::string out);
BuiltinReduction mean(std::string message, std::string out);
/// Takes the maximum of each element. The gradient of an element goes to the first message that has the maximum.
BuiltinReduction max(std::string message, std::string out);

/// A built-in or a user function.
using Message = std::variant<BuiltinMessage, EdgeFunction>;
using Reduction = std::variant<BuiltinReduction, NodeFunction>;

}  // namespace edgewise
