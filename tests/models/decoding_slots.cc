// SPDX-License-Identifier: Apache-2.0
#include "tests/models/decoding_slots.h"

#include <iterator>
#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"

namespace edgewise {

Interval IntervalAllocator::allocate(NodeIndex size) {
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    const auto [begin, end] = *gap;
    if (end - begin < size) continue;
    free_.erase(gap);
    if (end - begin > size) free_.emplace(begin + size, end);
    return {.begin = begin, .end = begin + size};
  }
  const NodeIndex begin = end_;
  end_ = checked_add(end_, size, "IntervalAllocator: the end of an interval");
  return {.begin = begin, .end = end_};
}

void IntervalAllocator::free(Interval interval) {
  if (interval.begin == interval.end) return;
  auto merged = free_.emplace(interval.begin, interval.end).first;
  if (const auto next = std::next(merged); next != free_.end() && next->first == merged->second) {
    merged->second = next->second;
    free_.erase(next);
  }
  if (merged != free_.begin()) {
    if (const auto before = std::prev(merged); before->second == merged->first) {
      before->second = merged->second;
      free_.erase(merged);
      merged = before;
    }
  }
  if (merged->second != end_) return;
  end_ = merged->first;
  free_.erase(merged);
}

std::vector<NodeIndex> DecodingSlots::assign(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  check(slots.size() == inputs.size(), "{}::encode: there are {} slots for {} inputs, needs as many", scorer_,
        slots.size(), inputs.size());
  for (const std::int64_t slot : slots) {
    check(slot >= 0, "{}::encode: a slot is {}, needs 0 or more", scorer_, slot);
    if (slot >= std::ssize(inputs_)) inputs_.resize(static_cast<std::size_t>(slot) + 1);
    tree_.remove_sentence(slot);
    input_rows_.free(std::exchange(inputs_[static_cast<std::size_t>(slot)], {}));
  }
  std::vector<NodeIndex> rows;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto size = narrow<NodeIndex>(std::ssize(inputs[i]), scorer_ + "::encode: the length of an input");
    const Interval interval = input_rows_.allocate(size);
    inputs_[static_cast<std::size_t>(slots[i])] = interval;
    for (NodeIndex row = interval.begin; row < interval.end; ++row) rows.push_back(row);
  }
  return rows;
}

DecodingSlots::NewNodes DecodingSlots::add_nodes(std::span<const NewNode> nodes) {
  NewNodes added;
  for (const NewNode& node : nodes) {
    const NodeIndex number = add_node(node);
    added.numbers.push_back(number);
    added.tokens.push_back(node.token);
    added.positions.push_back(tree_.depth(number));
  }
  added.ancestors = tree_.ancestors(added.numbers);
  added.inputs = tree_.inputs(added.numbers, inputs_, input_rows_.end());
  return added;
}

NodeIndex DecodingSlots::add_node(const NewNode& node) {
  const auto in_tree = tree_.nodes_of(node.slot);
  const bool has_input =
      node.slot >= 0 && node.slot < std::ssize(inputs_) && inputs_[static_cast<std::size_t>(node.slot)] != Interval();
  check(has_input, "{}::step: slot {} has no input, call encode first", scorer_, node.slot);
  check(node.parent >= HypothesisTree::kRoot && node.parent < std::ssize(in_tree),
        "{}::step: the parent of a node is {}, but its sentence has {} nodes, counted from 0", scorer_, node.parent,
        in_tree.size());
  const bool is_first = node.parent == HypothesisTree::kRoot;
  return tree_.grow(node.slot, is_first ? node.parent : in_tree[static_cast<std::size_t>(node.parent)], node.token);
}

}  // namespace edgewise
