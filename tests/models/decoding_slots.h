// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Allocates disjoint intervals of row numbers, each at the lowest possible number, in O(free intervals) time per call.
class IntervalAllocator {
 public:
  Interval allocate(NodeIndex size);
  void free(Interval interval);

  /// The end of the last allocated interval; 0 without one.
  NodeIndex end() const { return end_; }

 private:
  // Begin to end of the free intervals below end_. Adjacent intervals are merged; no interval ends at end_.
  std::map<NodeIndex, NodeIndex> free_;
  NodeIndex end_ = 0;
};

/// The slots of the sentences that a scorer decodes: each slot has the rows of its input and a tree of hypotheses.
class DecodingSlots {
 public:
  /// `scorer` is the name of the scorer in errors.
  explicit DecodingSlots(std::string scorer) : scorer_(std::move(scorer)) {}

  /// Clears the slots and allocates rows for their inputs. Returns the row of each token, input by input.
  std::vector<NodeIndex> assign(std::span<const std::int64_t> slots, std::span<const Tokens> inputs);

  /// New nodes of the trees, in the order of the request.
  struct NewNodes {
    std::vector<NodeIndex> numbers;  // node numbers in the forest of all slots
    Relation ancestors;              // from all nodes of the forest to the new nodes
    Relation inputs;                 // from the input rows of all slots to the new nodes
    std::vector<std::int64_t> tokens;
    std::vector<std::int64_t> positions;
  };
  NewNodes add_nodes(std::span<const NewNode> nodes);

  // All node numbers and all input rows in use are below these bounds.
  std::int64_t num_nodes() const { return tree_.num_nodes(); }
  std::int64_t num_inputs() const { return input_rows_.end(); }

 private:
  NodeIndex add_node(const NewNode& node);

  std::string scorer_;
  HypothesisTree tree_;  // slot s is sentence s
  IntervalAllocator input_rows_;
  std::vector<Interval> inputs_;  // [slots], the rows of each slot's input
};

}  // namespace edgewise
