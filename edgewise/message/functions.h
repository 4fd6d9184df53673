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

// What runs on nodes and edges: functions of the user's over batches of them, and built-in messages and reductions.

namespace edgewise {

/// What a function returns: the columns to write.
using Columns = std::map<std::string, at::Tensor>;

/// The nodes that a function is applied to. A view, for the time of the call.
class NodeBatch {
 public:
  NodeBatch(const Frame& frame, Rows nodes);
  NodeBatch(const Frame& frame, Rows nodes, const Columns& messages, const Mailboxes::Bucket& bucket);

  std::int64_t size() const { return nodes_.size(); }
  const at::Tensor& nodes() const { return nodes_.numbers(); }  // [N] their numbers

  /// [N, …] a node column.
  at::Tensor data(std::string_view name) const;

  /// [N, in-degree, …]: the messages that a reduce function found in its nodes' mailboxes; all its nodes have the same
  /// number of them. By ascending edge number. Throws Error, naming the messages there are, when there is none of that
  /// name, and outside of a reduce function.
  at::Tensor mailbox(std::string_view name) const;

 private:
  const Frame* frame_;
  Rows nodes_;
  const Columns* messages_ = nullptr;
  const Mailboxes::Bucket* bucket_ = nullptr;
};

/// The edges that a function is applied to. A view, for the time of the call; gathers only the columns asked for.
class EdgeBatch {
 public:
  EdgeBatch(const Frame& node_frame, const Frame& edge_frame, Rows edges, at::Tensor sources, at::Tensor destinations);

  std::int64_t size() const { return edges_.size(); }
  const at::Tensor& edges() const { return edges_.numbers(); }      // [E] their numbers
  const at::Tensor& sources() const { return sources_; }            // [E] node numbers
  const at::Tensor& destinations() const { return destinations_; }  // [E] node numbers
  at::Tensor source(std::string_view name) const;                   // [E, …] a node column, gathered at the sources
  at::Tensor destination(std::string_view name) const;              // [E, …] gathered at the destinations
  at::Tensor data(std::string_view name) const;                     // [E, …] an edge column

 private:
  const Frame* node_frame_;
  const Frame* edge_frame_;
  Rows edges_;
  at::Tensor sources_;
  at::Tensor destinations_;
};

// Each is also called on an empty batch when there is nothing to apply it to, so that the columns it writes exist.
using NodeFunction = std::function<Columns(const NodeBatch&)>;
using EdgeFunction = std::function<Columns(const EdgeBatch&)>;
using NodePredicate = std::function<at::Tensor(const NodeBatch&)>;  // bool [N]
using EdgePredicate = std::function<at::Tensor(const EdgeBatch&)>;  // bool [E]

/// u is the source, v the destination, e the edge. The two sides of u_mul_e and u_add_v have equally many dimensions,
/// each of one size or 1 on one side, which is then repeated: a score [E, H, 1] times a value [E, H, K].
struct BuiltinMessage {
  enum class Kind { kSourceTimesEdge, kSourcePlusDestination, kSourceDotDestination, kCopySource, kCopyEdge };

  Kind kind = Kind::kCopySource;
  std::string left;   // column of the source, or the edge's when that is all there is
  std::string right;  // column of the edge or the destination, if the message has two sides
  std::string out;
};
BuiltinMessage u_mul_e(std::string source, std::string edge, std::string out);
BuiltinMessage u_add_v(std::string source, std::string destination, std::string out);
/// Over the last dimension, kept as 1: [E, H, K] and [E, H, K] give [E, H, 1].
BuiltinMessage u_dot_v(std::string source, std::string destination, std::string out);
BuiltinMessage copy_u(std::string source, std::string out);
BuiltinMessage copy_e(std::string edge, std::string out);

/// Of a message to a node column, in the order of the edges: the same bits each time, however many threads.
struct BuiltinReduction {
  enum class Kind { kSum, kMean, kMax };

  Kind kind = Kind::kSum;
  std::string message;
  std::string out;
};
BuiltinReduction sum(std::string message, std::string out);
BuiltinReduction mean(std::string message, std::string out);
/// Element by element. The gradient of each element goes to one message: the first that has the maximum.
BuiltinReduction max(std::string message, std::string out);

/// A built-in, or a function of the user's.
using Message = std::variant<BuiltinMessage, EdgeFunction>;
using Reduction = std::variant<BuiltinReduction, NodeFunction>;

}  // namespace edgewise
