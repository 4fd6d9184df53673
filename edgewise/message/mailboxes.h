// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

// Shapes: M = messages, R = nodes that received a message, n = nodes of a bucket.

namespace edgewise {

/// Groups messages by the node that receives them: message i goes to node `destinations[i]`. The messages of a node are
/// in ascending order.
class Mailboxes {
 public:
  /// The nodes that received exactly `in_degree` messages each.
  struct Bucket {
    std::int64_t in_degree = 0;
    at::Tensor nodes;     // [n] node numbers, ascending
    at::Tensor messages;  // [n * in_degree] message numbers, node by node

    /// Gathers the rows of a message [M, …] node by node: [n, in_degree, …].
    at::Tensor gather(const at::Tensor& message) const;
  };

  /// Takes O(nodes + messages) time.
  Mailboxes(const at::Tensor& destinations, std::int64_t num_nodes);

  /// [R] the nodes that received a message, ascending.
  const at::Tensor& nodes() const { return nodes_; }
  /// [M] for each message, the index of its destination in nodes().
  const at::Tensor& node_indices() const { return node_indices_; }
  /// [R] the number of messages of each of nodes().
  const at::Tensor& in_degrees() const { return in_degrees_; }

  /// Returns the buckets by ascending in-degree. Without messages there is one bucket, of in-degree 1 and no nodes, so
  /// that a reduce function is called once and its results have a shape.
  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// Joins one result [n, …] for each bucket to [R, …], in the order of nodes().
  at::Tensor join(const std::vector<at::Tensor>& bucket_results) const;

 private:
  at::Tensor nodes_;
  at::Tensor node_indices_;
  at::Tensor in_degrees_;
  std::vector<Bucket> buckets_;
  at::Tensor joined_rows_;  // [R] for each of nodes(), its row in the concatenation of the buckets
};

}  // namespace edgewise
