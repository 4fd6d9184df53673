// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// The tree of a search, and what the model says of its newest nodes.
class Growth {
 public:
  /// Starts the scorer. It and the inputs must outlive this.
  Growth(Scorer& scorer, std::span<const Tokens> inputs);

  /// Adds a node, for the next step to compute. A parent of HypothesisTree::kRoot means a begin token.
  NodeIndex add(std::int64_t sentence, NodeIndex parent, std::int64_t token);

  /// Has the scorer compute the nodes added since the last step. False when there are none. Throws Error when it gives
  /// what is no log-probability.
  bool step();

  /// log p(next token | path to node), for a node that the last step computed.
  std::span<const float> log_probabilities(NodeIndex node) const;

  /// How many tokens were produced on the way to a node, and which: the begin token is not among them.
  std::int64_t length(NodeIndex node) const { return tree_.depth(node); }
  Tokens tokens(NodeIndex node) const;

 private:
  void accept_log_probabilities();

  Scorer& scorer_;
  std::int64_t vocabulary_size_;
  HypothesisTree tree_;
  NodeIndex first_node_ = 0;  // of the last step
  NodeIndex num_nodes_ = 0;   // that were computed so far
  std::vector<float> log_probabilities_;
};

}  // namespace edgewise
