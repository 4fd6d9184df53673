// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "edgewise/graph/hypothesis_tree.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/numbers.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

/// What a node of the tree must be.
struct ExpectedNode {
  std::int64_t sentence;
  std::vector<NodeIndex> ancestors;  // from the root down, the node included
  std::vector<std::int64_t> path;
};

using ExpectedNodes = std::map<NodeIndex, ExpectedNode>;

void grow(HypothesisTree& tree, ExpectedNodes& expected, Numbers& numbers) {
  const std::int64_t sentence = numbers.next() % 5;
  const auto parent = static_cast<NodeIndex>(numbers.next());
  const std::int64_t token = numbers.next_large();
  NodeIndex node = 0;
  if (!accept_errors([&] { node = tree.grow(sentence, parent, token); })) return;
  ExpectedNode grown{.sentence = sentence, .ancestors = {}, .path = {}};
  if (parent != HypothesisTree::kRoot) grown = expected.at(parent);
  require(grown.sentence == sentence && !expected.contains(node));
  grown.ancestors.push_back(node);
  grown.path.push_back(token);
  expected[node] = std::move(grown);
}

void check_node(const HypothesisTree& tree, NodeIndex node, const ExpectedNode& expected) {
  require(tree.sentence(node) == expected.sentence && tree.path(node) == expected.path);
  require(tree.token(node) == expected.path.back() && tree.depth(node) == std::ssize(expected.path) - 1);
  const bool is_first = expected.ancestors.size() == 1;
  require(tree.parent(node) == (is_first ? HypothesisTree::kRoot : expected.ancestors.end()[-2]));
  require(std::ranges::count(tree.nodes_of(expected.sentence), node) == 1);
}

/// Checks the relations of nodes, some of which may not exist.
void check_relations(const HypothesisTree& tree, const ExpectedNodes& expected, const std::vector<NodeIndex>& nodes) {
  const std::vector<Interval> inputs = {{0, 2}, {2, 3}, {3, 3}, {3, 9}};
  accept_errors([&] {
    const Relation ancestors = tree.ancestors(nodes);
    const EdgeList edges = ancestors.edges();
    require(ancestors.num_destinations() == std::ssize(nodes) && ancestors.num_sources() == tree.num_nodes());
    std::vector<NodeIndex> sources;
    for (const NodeIndex node : nodes) {
      const std::vector<NodeIndex>& own = expected.at(node).ancestors;
      sources.insert(sources.end(), own.begin(), own.end());
    }
    require(edges.sources == sources);
  });
  accept_errors([&] {
    const Relation relation = tree.inputs(nodes, inputs, 9);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Interval& interval = inputs.at(static_cast<std::size_t>(expected.at(nodes[i]).sentence));
      require(relation.row_size(static_cast<std::int64_t>(i)) == interval.end - interval.begin);
    }
  });
}

}  // namespace

void read_tree(std::string_view bytes) {
  constexpr int kMaxCalls = 300;  // checks take O(calls²)
  Numbers numbers(bytes);
  HypothesisTree tree;
  ExpectedNodes expected;
  for (int call = 0; call < kMaxCalls && !numbers.is_at_end(); ++call) {
    switch (numbers.next_below(8)) {
      case 0: {
        const std::int64_t sentence = numbers.next() % 5;
        tree.remove_sentence(sentence);
        std::erase_if(expected, [&](const auto& entry) { return entry.second.sentence == sentence; });
        break;
      }
      case 1:
        check_relations(tree, expected, numbers.list<NodeIndex>(numbers.next()));
        break;
      default:
        grow(tree, expected, numbers);
    }
  }
  for (const auto& [node, of_node] : expected) check_node(tree, node, of_node);
  for (NodeIndex node = 0; node < tree.num_nodes(); ++node) {
    require(accept_errors([&] { tree.path(node); }) == expected.contains(node));
  }
}

}  // namespace edgewise::fuzz
