// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/hypothesis_tree.h"

namespace edgewise {

using Tokens = std::vector<std::int64_t>;

/// What a search needs of a model: the log-probabilities of the next token. Knows tokens and scores only.
class Scorer {
 public:
  virtual ~Scorer() = default;

  virtual std::int64_t vocabulary_size() const = 0;

  /// Forgets what came before and reads a batch of inputs, none of them empty.
  virtual void start(std::span<const Tokens> inputs) = 0;

  /// Computes the tree's nodes from `first_node` on, which are new since the last call, and only those: older ones keep
  /// the keys and values of their time. Writes log p(next token | path to node) to `log_probabilities`, one row of
  /// vocabulary_size() a new node. The tree's sentence i is input i of start().
  virtual void step(const HypothesisTree& tree, NodeIndex first_node, std::span<float> log_probabilities) = 0;
};

}  // namespace edgewise
