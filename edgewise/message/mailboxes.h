// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace edgewise {

/// Who got which messages: message i goes to node `destinations[i]`, and nodes find theirs in ascending order.
class Mailboxes {
 public:
  /// The nodes that got equally many messages.
  struct Bucket {
    std::int64_t in_degree = 0;
    at::Tensor nodes;     // [n] node numbers, ascending
    at::Tensor messages;  // [n * in_degree] message numbers, node by node

    /// [n, in_degree, …] of a message [M, …].
    at::Tensor read(const at::Tensor& message) const;
  };

  /// O(nodes + messages).
  Mailboxes(const at::Tensor& destinations, std::int64_t num_nodes);

  /// [R] the nodes that got any message, ascending.
  const at::Tensor& nodes() const { return nodes_; }
  /// [M] where in nodes() the destination of each message is.
  const at::Tensor& slots() const { return slots_; }
  /// [R] how many messages each of nodes() got.
  const at::Tensor& in_degrees() const { return in_degrees_; }

  /// By ascending in-degree. Without any message, one bucket of no nodes and in-degree 1: it has the shape of the
  /// results, if not their rows.
  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// [R, …] in the order of nodes(), from one result [n, …] a bucket.
  at::Tensor join(const std::vector<at::Tensor>& bucket_results) const;

 private:
  at::Tensor nodes_;
  at::Tensor slots_;
  at::Tensor in_degrees_;
  std::vector<Bucket> buckets_;
  at::Tensor places_;  // [R] where in the joined buckets each of nodes() is
};

}  // namespace edgewise
