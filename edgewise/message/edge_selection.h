// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "edgewise/graph/graph.h"
#include "edgewise/message/mailboxes.h"
#include "edgewise/message/rows.h"

namespace edgewise {

/// Some edges of a graph, or all, in the order of their selection, and what message passing derives from them, each
/// part when it is first needed. Thread-safe. Shapes: E = edges of the selection, N = nodes of the graph.
class EdgeSelection {
 public:
  EdgeSelection(const Graph& graph, Rows rows);

  const Rows& rows() const { return rows_; }
  std::int64_t size() const { return rows_.size(); }
  const at::Tensor& sources() const { return ends().sources; }            // [E] node numbers
  const at::Tensor& destinations() const { return ends().destinations; }  // [E] node numbers

  /// The edges as a relation from N to N nodes, whose rows hold the edges in the order of the selection. Takes
  /// O(N + E log E) time, or none for all edges of a graph that has one relation.
  const Relation& relation() const;
  /// For each edge of relation() its place in the selection, int64 [E]; undefined if they are equal.
  const at::Tensor& places() const;
  /// For each edge of relation() its number in the graph, int64 [E]; undefined if they are equal.
  const at::Tensor& numbers() const;

  /// The in-degrees of all nodes, int64 [N].
  at::Tensor in_degrees() const;

  const Mailboxes& mailboxes() const;

  /// The same edges in the order of mailboxes(). Their relation() is that of this selection.
  const EdgeSelection& in_mailbox_order() const;

 private:
  EdgeSelection(const EdgeSelection& from, const Mailboxes& mailboxes);

  struct Ends {
    at::Tensor sources;
    at::Tensor destinations;
  };
  const Ends& ends() const;

  struct Order {
    Relation relation;
    at::Tensor places;
    at::Tensor numbers;
  };
  const Order& order() const;
  Order sort_edges() const;

  Graph graph_;
  Rows rows_;
  mutable std::once_flag ends_once_;
  mutable Ends ends_;
  mutable std::once_flag order_once_;
  mutable Order order_;
  mutable std::once_flag mailboxes_once_;
  mutable std::optional<Mailboxes> mailboxes_;
  mutable std::once_flag in_mailbox_order_once_;
  mutable std::unique_ptr<const EdgeSelection> in_mailbox_order_;
};

}  // namespace edgewise
