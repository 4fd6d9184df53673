// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "edgewise/message/edge_selection.h"
#include "edgewise/message/frame.h"
#include "edgewise/message/mailboxes.h"
#include "edgewise/message/rows.h"
#include "edgewise/ops/edge_sum.h"

// User functions over batches of nodes and edges, and the built-in messages and reductions.

namespace edgewise {

/// The columns that a function returns, to be written to a frame.
using Columns = std::map<std::string, at::Tensor>;

class SentMessages;

/// The nodes that a function is applied to: a view, valid during the call.
class NodeBatch {
 public:
  NodeBatch(const Frame& frame, Rows nodes);
  NodeBatch(const Frame& frame, Rows nodes, const SentMessages& messages, const Mailboxes::Bucket& bucket);

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
  const SentMessages* messages_ = nullptr;
  const Mailboxes::Bucket* bucket_ = nullptr;
};

/// The edges that a function is applied to: a view, valid during the call. Gathers a column when it is first read,
/// once.
class EdgeBatch {
 public:
  EdgeBatch(const Frame& node_frame, const Frame& edge_frame, const EdgeSelection& edges);

  std::int64_t size() const { return edges_->size(); }
  const at::Tensor& edges() const { return edges_->rows().numbers(); }       // [E] edge numbers
  const at::Tensor& sources() const { return edges_->sources(); }            // [E] node numbers
  const at::Tensor& destinations() const { return edges_->destinations(); }  // [E] node numbers
  at::Tensor source(std::string_view name) const;                            // [E, …] a node column at the sources
  at::Tensor destination(std::string_view name) const;  // [E, …] a node column at the destinations
  at::Tensor data(std::string_view name) const;         // [E, …] an edge column

 private:
  using Gathered = std::map<std::string, at::Tensor, std::less<>>;
  at::Tensor gather_nodes(std::string_view name, RowsOf rows_of, Gathered& gathered) const;

  const Frame* node_frame_;
  const Frame* edge_frame_;
  const EdgeSelection* edges_;
  mutable Gathered at_sources_;
  mutable Gathered at_destinations_;
  mutable Gathered at_edges_;
};

// A function is also called when no node or edge is selected, with an empty batch, so that its columns are created.
using NodeFunction = std::function<Columns(const NodeBatch&)>;
using EdgeFunction = std::function<Columns(const EdgeBatch&)>;
using NodePredicate = std::function<at::Tensor(const NodeBatch&)>;  // bool [N]
using EdgePredicate = std::function<at::Tensor(const EdgeBatch&)>;  // bool [E]

/// A built-in message, named as in DGL: u is the source, v the destination, e the edge. The rows of two operands are
/// broadcast: their dimensions are aligned at the last, and have sizes that are equal or 1. Score [E, H, 1] · value
/// [E, H, K] scales the values of each head, [E, K] · [E, H, K] those of all heads.
///
/// A built-in message with a built-in reduction, and a built-in message that apply_edges() writes, of fp32, fp64 or
/// bf16 columns of one type, is one pass over the edges, forward and backward, without a tensor of all messages.
struct BuiltinMessage {
  enum class Kind { kCopy, kAdd, kSubtract, kMultiply, kDivide, kDot };

  /// A column of the sources, the destinations or the edges.
  struct Column {
    RowsOf rows_of = RowsOf::kSources;
    std::string name;
  };

  Kind kind = Kind::kCopy;
  Column left;
  Column right;  // not read with kCopy
  std::string out;
};
BuiltinMessage copy_u(std::string source, std::string out);
BuiltinMessage copy_e(std::string edge, std::string out);
/// left + right.
BuiltinMessage u_add_v(std::string left, std::string right, std::string out);
BuiltinMessage u_add_e(std::string left, std::string right, std::string out);
BuiltinMessage v_add_u(std::string left, std::string right, std::string out);
BuiltinMessage v_add_e(std::string left, std::string right, std::string out);
BuiltinMessage e_add_u(std::string left, std::string right, std::string out);
BuiltinMessage e_add_v(std::string left, std::string right, std::string out);
/// left - right.
BuiltinMessage u_sub_v(std::string left, std::string right, std::string out);
BuiltinMessage u_sub_e(std::string left, std::string right, std::string out);
BuiltinMessage v_sub_u(std::string left, std::string right, std::string out);
BuiltinMessage v_sub_e(std::string left, std::string right, std::string out);
BuiltinMessage e_sub_u(std::string left, std::string right, std::string out);
BuiltinMessage e_sub_v(std::string left, std::string right, std::string out);
/// left · right.
BuiltinMessage u_mul_v(std::string left, std::string right, std::string out);
BuiltinMessage u_mul_e(std::string left, std::string right, std::string out);
BuiltinMessage v_mul_u(std::string left, std::string right, std::string out);
BuiltinMessage v_mul_e(std::string left, std::string right, std::string out);
BuiltinMessage e_mul_u(std::string left, std::string right, std::string out);
BuiltinMessage e_mul_v(std::string left, std::string right, std::string out);
/// left / right.
BuiltinMessage u_div_v(std::string left, std::string right, std::string out);
BuiltinMessage u_div_e(std::string left, std::string right, std::string out);
BuiltinMessage v_div_u(std::string left, std::string right, std::string out);
BuiltinMessage v_div_e(std::string left, std::string right, std::string out);
BuiltinMessage e_div_u(std::string left, std::string right, std::string out);
BuiltinMessage e_div_v(std::string left, std::string right, std::string out);
/// The sum of left · right over the last dimension, which becomes 1: [E, H, K] and [E, H, K] give [E, H, 1].
BuiltinMessage u_dot_v(std::string left, std::string right, std::string out);
BuiltinMessage u_dot_e(std::string left, std::string right, std::string out);
BuiltinMessage v_dot_u(std::string left, std::string right, std::string out);
BuiltinMessage v_dot_e(std::string left, std::string right, std::string out);
BuiltinMessage e_dot_u(std::string left, std::string right, std::string out);
BuiltinMessage e_dot_v(std::string left, std::string right, std::string out);

/// A built-in reduction of a message to a node column, in edge order: the bits do not depend on the number of threads.
struct BuiltinReduction {
  enum class Kind { kSum, kMean, kMax, kMin };

  Kind kind = Kind::kSum;
  std::string message;
  std::string out;
};
BuiltinReduction sum(std::string message, std::string out);
BuiltinReduction mean(std::string message, std::string out);
/// Take the maximum or the minimum of each element. The gradient of an element goes to the first message that has it.
BuiltinReduction max(std::string message, std::string out);
BuiltinReduction min(std::string message, std::string out);

/// A built-in or a user function.
using Message = std::variant<BuiltinMessage, EdgeFunction>;
using Reduction = std::variant<BuiltinReduction, NodeFunction>;

}  // namespace edgewise
