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

  /// Adds one node and returns its number: one that was forgotten, or else the next. `parent` is kRoot or a node of the
  /// same sentence. Sentences are counted from 0, and come as they are named. Throws Error for any other.
  NodeIndex grow(std::int64_t sentence, NodeIndex parent, std::int64_t token);

  /// Takes a sentence's nodes out; others will get their numbers, and one day the sentence new nodes.
  void forget(std::int64_t sentence);

  /// Node numbers are below it.
  std::int64_t num_nodes() const;
  /// A sentence's nodes, in the order in which they were added.
  std::span<const NodeIndex> nodes_of(std::int64_t sentence) const;
  NodeIndex parent(NodeIndex node) const;
  std::int64_t sentence(NodeIndex node) const;
  std::int64_t token(NodeIndex node) const;
  std::int64_t depth(NodeIndex node) const;  // 0 for a first token: its position

  /// Tokens from the first to `node`.
  std::vector<std::int64_t> path(NodeIndex node) const;

  /// Who some nodes see among all: ancestors, from the root down, and themselves. Row i is that of `nodes[i]`.
  /// O(sum of their depths).
  Relation ancestors(std::span<const NodeIndex> nodes) const;

  /// The same nodes' view of the encoder: row i is the interval of the sentence that `nodes[i]` belongs to.
  Relation inputs(std::span<const NodeIndex> nodes, std::span<const Interval> intervals_of_sentences,
                  std::int64_t num_sources) const;

 private:
  static constexpr std::int64_t kNoSentence = -1;  // of a node that was forgotten

  struct Node {
    NodeIndex parent;
    std::int32_t depth;
    std::int64_t sentence;
    std::int64_t token;
  };
  const Node& at(NodeIndex node, std::string_view function) const;
  NodeIndex next_number() const;

  std::vector<Node> nodes_;
  std::vector<std::vector<NodeIndex>> sentences_;
  std::vector<NodeIndex> forgotten_;
};

}  // namespace edgewise
