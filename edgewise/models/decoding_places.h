// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/models/interval_space.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Where the sentences that a scorer decodes lie: each place has rows for its input, and a tree of hypotheses. What
/// scorers of all models have in common.
class DecodingPlaces {
 public:
  /// `scorer` is the name of the scorer in errors.
  explicit DecodingPlaces(std::string scorer) : scorer_(std::move(scorer)) {}

  /// Forgets what lies in the places, and makes room for their inputs: the row of each of their tokens.
  std::vector<NodeIndex> read(std::span<const std::int64_t> places, std::span<const Tokens> inputs);

  struct NewNodes {
    std::vector<NodeIndex> numbers;
    Relation ancestors;  // whom each sees among all nodes
    Relation inputs;     // and among the rows of inputs
    std::vector<std::int64_t> tokens;
    std::vector<std::int64_t> positions;
  };
  NewNodes grow(std::span<const NewNode> nodes);

  // Numbers are below these.
  std::int64_t num_nodes() const { return tree_.num_nodes(); }
  std::int64_t num_inputs() const { return input_space_.end(); }

 private:
  NodeIndex grow(const NewNode& node);

  std::string scorer_;
  HypothesisTree tree_;  // place p is sentence p
  IntervalSpace input_space_;
  std::vector<Interval> inputs_;  // of each place
};

}  // namespace edgewise
