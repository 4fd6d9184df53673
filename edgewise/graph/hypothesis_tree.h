// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// The graph that a search grows. Each node is a token, whose parent is the token before it. A hypothesis is a path
/// from a root; each of its tokens attends to its ancestors and itself. Each sentence of a batch has its own tree. The
/// tree of a greedy search has no branches. Reordering a beam copies nothing: new nodes get other parents.
class HypothesisTree {
 public:
  static constexpr NodeIndex kRoot = -1;  // the parent of a hypothesis's first token

  /// Adds a node and returns its number: the number of a removed node if there is one, else num_nodes(). `parent` is
  /// kRoot or a node of `sentence`. Sentences are numbered from 0 and need not be declared. Throws Error for another
  /// parent or a negative sentence.
  NodeIndex grow(std::int64_t sentence, NodeIndex parent, std::int64_t token);

  /// Removes a sentence's nodes. The numbers of the nodes and of the sentence may be used again.
  void remove_sentence(std::int64_t sentence);

  /// Returns the number of nodes, removed ones included: all node numbers are below it.
  std::int64_t num_nodes() const;
  /// Returns a sentence's nodes in the order in which they were added.
  std::span<const NodeIndex> nodes_of(std::int64_t sentence) const;
  NodeIndex parent(NodeIndex node) const;
  std::int64_t sentence(NodeIndex node) const;
  std::int64_t token(NodeIndex node) const;
  std::int64_t depth(NodeIndex node) const;  // the token's position; 0 for the first

  /// Returns the tokens from the first to `node`.
  std::vector<std::int64_t> path(NodeIndex node) const;

  /// Returns the self-attention of some nodes: the sources of row i are the ancestors of nodes[i], from the root down,
  /// and nodes[i]. O(sum of the nodes' depths).
  Relation ancestors(std::span<const NodeIndex> nodes) const;

  /// Returns the cross-attention of some nodes: row i is the interval of input tokens of the sentence of nodes[i].
  Relation inputs(std::span<const NodeIndex> nodes, std::span<const Interval> input_intervals,
                  std::int64_t num_sources) const;

 private:
  static constexpr std::int64_t kNoSentence = -1;  // the sentence of a removed node

  struct Node {
    NodeIndex parent;
    std::int32_t depth;
    std::int64_t sentence;
    std::int64_t token;
  };
  const Node& at(NodeIndex node, std::string_view function) const;

  std::vector<Node> nodes_;
  std::vector<std::vector<NodeIndex>> sentences_;
  std::vector<NodeIndex> free_numbers_;
};

}  // namespace edgewise
