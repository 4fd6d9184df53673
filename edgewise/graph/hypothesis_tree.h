// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// The growing graph of a search: each node is a token, placed below the token before it; a hypothesis is a path from a
/// root, and its tokens see their ancestors and themselves. Sentences of a batch are trees of one forest.
/// Greedy search is a tree without branches. Nothing is copied when beams reorder: they just grow from another node.
class HypothesisTree {
 public:
  static constexpr NodeIndex kRoot = -1;  // the parent of a first token

  explicit HypothesisTree(std::int64_t num_sentences = 0);

  /// Adds one node and returns its number; numbers run in order of addition. `parent` is kRoot or a node of the same
  /// sentence. Throws Error for any other.
  NodeIndex grow(std::int64_t sentence, NodeIndex parent, std::int64_t token);

  std::int64_t num_nodes() const;
  std::int64_t num_sentences() const;
  NodeIndex parent(NodeIndex node) const;
  std::int64_t sentence(NodeIndex node) const;
  std::int64_t token(NodeIndex node) const;
  std::int64_t depth(NodeIndex node) const;  // 0 for a first token: its position

  /// Tokens from the first to `node`.
  std::vector<std::int64_t> path(NodeIndex node) const;

  /// Who the nodes from `first_node` on see among all nodes so far: ancestors, from the root down, and itself. One row
  /// a new node. O(sum of their depths).
  Relation ancestors(NodeIndex first_node) const;

  /// The new nodes' view of the encoder: row i is the interval of sources of the sentence it belongs to.
  Relation inputs(NodeIndex first_node, std::span<const std::int64_t> input_lengths) const;

 private:
  struct Node {
    NodeIndex parent;
    std::int32_t depth;
    std::int64_t sentence;
    std::int64_t token;
  };
  const Node& at(NodeIndex node, std::string_view function) const;
  void check_first_node(NodeIndex first_node, std::string_view function) const;

  std::int64_t num_sentences_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace edgewise
