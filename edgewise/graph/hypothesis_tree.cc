// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/hypothesis_tree.h"

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"

namespace edgewise {

NodeIndex HypothesisTree::grow(std::int64_t sentence, NodeIndex parent, std::int64_t token) {
  check(sentence >= 0, "grow: sentence is {}, needs 0 or more", sentence);
  check(parent >= kRoot && parent < num_nodes(), "grow: parent is {}, needs kRoot or a number in [0, {})", parent,
        num_nodes());
  std::int32_t depth = 0;
  if (parent != kRoot) {
    check(nodes_[parent].sentence == sentence, "grow: parent {} is of {}, needs a node of sentence {}", parent,
          nodes_[parent].sentence == kNoSentence ? "none" : fmt::format("sentence {}", nodes_[parent].sentence),
          sentence);
    depth = nodes_[parent].depth + 1;
  }
  const NodeIndex node =
      free_numbers_.empty() ? narrow<NodeIndex>(num_nodes(), "grow: the number of nodes") : free_numbers_.back();
  if (node == num_nodes()) {
    nodes_.emplace_back();
  } else {
    free_numbers_.pop_back();
  }
  nodes_[node] = {.parent = parent, .depth = depth, .sentence = sentence, .token = token};
  if (sentence >= std::ssize(sentences_)) sentences_.resize(sentence + 1);
  sentences_[sentence].push_back(node);
  return node;
}

void HypothesisTree::remove_sentence(std::int64_t sentence) {
  if (sentence < 0 || sentence >= std::ssize(sentences_)) return;
  std::vector<NodeIndex>& nodes = sentences_[sentence];
  for (const NodeIndex node : nodes) nodes_[node].sentence = kNoSentence;
  free_numbers_.insert(free_numbers_.end(), nodes.rbegin(), nodes.rend());
  nodes.clear();
  if (free_numbers_.size() < nodes_.size()) return;
  // No node is left: the numbering restarts at 0.
  nodes_.clear();
  free_numbers_.clear();
}

std::int64_t HypothesisTree::num_nodes() const { return std::ssize(nodes_); }

std::span<const NodeIndex> HypothesisTree::nodes_of(std::int64_t sentence) const {
  if (sentence < 0 || sentence >= std::ssize(sentences_)) return {};
  return sentences_[sentence];
}

NodeIndex HypothesisTree::parent(NodeIndex node) const { return at(node, "parent").parent; }
std::int64_t HypothesisTree::sentence(NodeIndex node) const { return at(node, "sentence").sentence; }
std::int64_t HypothesisTree::token(NodeIndex node) const { return at(node, "token").token; }
std::int64_t HypothesisTree::depth(NodeIndex node) const { return at(node, "depth").depth; }

std::vector<std::int64_t> HypothesisTree::path(NodeIndex node) const {
  std::vector<std::int64_t> tokens(at(node, "path").depth + 1);
  for (auto next = tokens.rbegin(); next != tokens.rend(); ++next) {
    *next = nodes_[node].token;
    node = nodes_[node].parent;
  }
  return tokens;
}

Relation HypothesisTree::ancestors(std::span<const NodeIndex> nodes) const {
  return Relation::from_rows(num_nodes(), std::ssize(nodes), [&](std::int64_t row, std::vector<NodeIndex>& sources) {
    NodeIndex ancestor = nodes[row];
    sources.resize(sources.size() + at(ancestor, "ancestors").depth + 1);
    for (auto next = sources.rbegin(); ancestor != kRoot; ++next) {
      *next = ancestor;
      ancestor = nodes_[ancestor].parent;
    }
  });
}

Relation HypothesisTree::inputs(std::span<const NodeIndex> nodes, std::span<const Interval> input_intervals,
                                std::int64_t num_sources) const {
  std::vector<Interval> rows;
  rows.reserve(nodes.size());
  for (const NodeIndex node : nodes) {
    const std::int64_t sentence = at(node, "inputs").sentence;
    check(sentence < std::ssize(input_intervals), "inputs: node {} is of sentence {}, needs one of {}", node, sentence,
          input_intervals.size());
    rows.push_back(input_intervals[sentence]);
  }
  return Relation::from_intervals(num_sources, std::move(rows));
}

const HypothesisTree::Node& HypothesisTree::at(NodeIndex node, std::string_view function) const {
  check(node >= 0 && node < num_nodes() && nodes_[node].sentence != kNoSentence,
        "{}: node is {}, needs one that is there, of the {} that were added", function, node, num_nodes());
  return nodes_[node];
}

}  // namespace edgewise
