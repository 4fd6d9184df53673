// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/decoding_places.h"

#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"

namespace edgewise {

std::vector<NodeIndex> DecodingPlaces::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  check(places.size() == inputs.size(), "{}::read: there are {} places for {} inputs, as many are needed", scorer_,
        places.size(), inputs.size());
  for (const std::int64_t place : places) {
    check(place >= 0, "{}::read: a place is {}, needs 0 or more", scorer_, place);
    if (place >= std::ssize(inputs_)) inputs_.resize(static_cast<std::size_t>(place) + 1);
    tree_.forget(place);
    input_space_.give_back(std::exchange(inputs_[static_cast<std::size_t>(place)], {}));
  }
  std::vector<NodeIndex> rows;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto size = narrow<NodeIndex>(std::ssize(inputs[i]), scorer_ + "::read: the length of an input");
    const Interval interval = input_space_.take(size);
    inputs_[static_cast<std::size_t>(places[i])] = interval;
    for (NodeIndex row = interval.begin; row < interval.end; ++row) rows.push_back(row);
  }
  return rows;
}

DecodingPlaces::NewNodes DecodingPlaces::grow(std::span<const NewNode> nodes) {
  NewNodes grown;
  for (const NewNode& node : nodes) {
    const NodeIndex number = grow(node);
    grown.numbers.push_back(number);
    grown.tokens.push_back(node.token);
    grown.positions.push_back(tree_.depth(number));
  }
  grown.ancestors = tree_.ancestors(grown.numbers);
  grown.inputs = tree_.inputs(grown.numbers, inputs_, input_space_.end());
  return grown;
}

NodeIndex DecodingPlaces::grow(const NewNode& node) {
  const auto in_tree = tree_.nodes_of(node.place);
  const bool is_read = node.place >= 0 && node.place < std::ssize(inputs_) &&
                       inputs_[static_cast<std::size_t>(node.place)] != Interval();
  check(is_read, "{}::step: place {} has no input, call read first", scorer_, node.place);
  check(node.parent >= HypothesisTree::kRoot && node.parent < std::ssize(in_tree),
        "{}::step: the parent of a node is {}, but its sentence has {} nodes, counted from 0", scorer_, node.parent,
        in_tree.size());
  const bool is_first = node.parent == HypothesisTree::kRoot;
  return tree_.grow(node.place, is_first ? node.parent : in_tree[static_cast<std::size_t>(node.parent)], node.token);
}

}  // namespace edgewise
