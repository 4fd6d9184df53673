// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/graph/relation.h"

// Shapes: M = messages, R = nodes that received a message, n = nodes of a bucket.

namespace edgewise {

/// Groups the edges of a relation by the node that receives their messages, and these nodes by their in-degree:
/// messages in the order of edges() are the mailboxes of all nodes, one after the other, without a copy.
class Mailboxes {
 public:
  /// The nodes that received exactly `in_degree` messages each.
  struct Bucket {
    std::int64_t in_degree = 0;
    at::Tensor nodes;        // [n] node numbers, ascending
    std::int64_t begin = 0;  // the place of the bucket's first message

    /// Returns the rows of a message [M, …], in the order of edges(), node by node: [n, in_degree, …], a view.
    at::Tensor view(const at::Tensor& message) const;
  };

  /// Takes O(nodes + messages) time.
  explicit Mailboxes(const Relation& relation);

  /// [R] the nodes that received a message, ascending.
  const at::Tensor& nodes() const { return nodes_; }

  /// [M] the edges of the relation, bucket by bucket and node by node. Those of a node ascend.
  at::Tensor edges() const;
  /// [M] for each edge of the relation, its place in edges(); undefined if the orders are equal.
  const at::Tensor& place_of_edge() const { return place_of_edge_; }

  /// Returns the buckets by ascending in-degree. Without messages there is one bucket, of in-degree 1 and no nodes, so
  /// that a reduce function is called once and its results have a shape.
  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// Joins one result [n, …] for each bucket to [R, …], in the order of nodes().
  at::Tensor join(const std::vector<at::Tensor>& bucket_results) const;

 private:
  std::int64_t num_edges_;
  at::Tensor nodes_;
  at::Tensor place_of_edge_;
  std::vector<Bucket> buckets_;
  at::Tensor joined_rows_;  // [R] for each of nodes(), its row in the concatenation of the buckets
};

}  // namespace edgewise
