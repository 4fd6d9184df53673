// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/hypothesis_tree.h"

#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"
#include "edgewise/graph/node_count.h"

namespace edgewise {

HypothesisTree::HypothesisTree(std::int64_t num_sentences) : num_sentences_(num_sentences) {
  check(num_sentences >= 0, "HypothesisTree: num_sentences is {}, needs 0 or more", num_sentences);
}

NodeIndex HypothesisTree::grow(std::int64_t sentence, NodeIndex parent, std::int64_t token) {
  check(sentence >= 0 && sentence < num_sentences_, "grow: sentence is {}, needs a number in [0, {})", sentence,
        num_sentences_);
  check(parent >= kRoot && parent < num_nodes(), "grow: parent is {}, needs kRoot or a number in [0, {})", parent,
        num_nodes());
  std::int32_t depth = 0;
  if (parent != kRoot) {
    check(nodes_[parent].sentence == sentence, "grow: parent {} is of sentence {}, needs a node of sentence {}", parent,
          nodes_[parent].sentence, sentence);
    depth = nodes_[parent].depth + 1;
  }
  const auto node = narrow<NodeIndex>(num_nodes(), "grow: the number of nodes");
  nodes_.push_back({.parent = parent, .depth = depth, .sentence = sentence, .token = token});
  return node;
}

std::int64_t HypothesisTree::num_nodes() const { return std::ssize(nodes_); }

std::int64_t HypothesisTree::num_sentences() const { return num_sentences_; }

NodeIndex HypothesisTree::parent(NodeIndex node) const { return at(node, "parent").parent; }

std::int64_t HypothesisTree::sentence(NodeIndex node) const { return at(node, "sentence").sentence; }

std::int64_t HypothesisTree::token(NodeIndex node) const { return at(node, "token").token; }

std::int64_t HypothesisTree::depth(NodeIndex node) const { return at(node, "depth").depth; }

std::vector<std::int64_t> HypothesisTree::path(NodeIndex node) const {
  std::vector<std::int64_t> tokens(at(node, "path").depth + 1);
  for (auto place = tokens.rbegin(); place != tokens.rend(); ++place) {
    *place = nodes_[node].token;
    node = nodes_[node].parent;
  }
  return tokens;
}

Relation HypothesisTree::ancestors(NodeIndex first_node) const {
  check_first_node(first_node, "ancestors");
  std::vector<EdgeIndex> row_begin = {0};
  row_begin.reserve(nodes_.size() - first_node + 1);
  std::vector<NodeIndex> sources;
  for (NodeIndex node = first_node; node < num_nodes(); ++node) {
    sources.resize(sources.size() + nodes_[node].depth + 1);
    NodeIndex ancestor = node;
    for (auto place = sources.rbegin(); ancestor != kRoot; ++place) {
      *place = ancestor;
      ancestor = nodes_[ancestor].parent;
    }
    row_begin.push_back(std::ssize(sources));
  }
  return Relation::from_rows(num_nodes(), std::move(row_begin), std::move(sources)).simplified();
}

Relation HypothesisTree::inputs(NodeIndex first_node, std::span<const std::int64_t> input_lengths) const {
  check_first_node(first_node, "inputs");
  check(std::ssize(input_lengths) == num_sentences_, "inputs: input_lengths has {} entries, needs {}, one a sentence",
        input_lengths.size(), num_sentences_);
  std::vector<Interval> sentences;
  sentences.reserve(input_lengths.size());
  std::int64_t num_sources = 0;
  for (std::size_t i = 0; i < input_lengths.size(); ++i) {
    check(input_lengths[i] >= 0 && input_lengths[i] <= kMaxNodes - num_sources,
          "inputs: input_lengths[{}] is {}, needs a number from 0 to {}", i, input_lengths[i], kMaxNodes - num_sources);
    const auto begin = static_cast<NodeIndex>(num_sources);
    num_sources += input_lengths[i];
    sentences.push_back({.begin = begin, .end = static_cast<NodeIndex>(num_sources)});
  }

  std::vector<Interval> rows;
  rows.reserve(nodes_.size() - first_node);
  for (std::size_t node = first_node; node < nodes_.size(); ++node) rows.push_back(sentences[nodes_[node].sentence]);
  return Relation::from_intervals(num_sources, std::move(rows));
}

const HypothesisTree::Node& HypothesisTree::at(NodeIndex node, std::string_view function) const {
  check(node >= 0 && node < num_nodes(), "{}: node is {}, needs a number in [0, {})", function, node, num_nodes());
  return nodes_[node];
}

void HypothesisTree::check_first_node(NodeIndex first_node, std::string_view function) const {
  check(first_node >= 0 && first_node <= num_nodes(), "{}: first_node is {}, needs a number from 0 to {}", function,
        first_node, num_nodes());
}

}  // namespace edgewise
