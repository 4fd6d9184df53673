// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/hypothesis_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "edgewise/graph/batch.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/graph/relations.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr NodeIndex kRoot = HypothesisTree::kRoot;

rc::Gen<HypothesisTree> arbitrary_tree() {
  return rc::gen::exec([] {
    const auto num_sentences = *in_range<std::int64_t>(1, 4);
    HypothesisTree tree;
    for (auto count = *in_range(0, 20); count > 0; --count) {
      const auto parent = *in_range<NodeIndex>(kRoot, static_cast<NodeIndex>(tree.num_nodes()));
      const auto sentence = parent == kRoot ? *in_range<std::int64_t>(0, num_sentences) : tree.sentence(parent);
      tree.grow(sentence, parent, *in_range<std::int64_t>(0, 100));
    }
    return tree;
  });
}

/// Returns the path from the root to `node`, computed from the parents.
std::vector<NodeIndex> walk_up(const HypothesisTree& tree, NodeIndex node) {
  std::vector<NodeIndex> walked;
  for (; node != kRoot; node = tree.parent(node)) walked.insert(walked.begin(), node);
  return walked;
}

std::vector<NodeIndex> nodes_from(const HypothesisTree& tree, NodeIndex first) {
  std::vector<NodeIndex> nodes;
  for (NodeIndex node = first; node < tree.num_nodes(); ++node) nodes.push_back(node);
  return nodes;
}

std::vector<NodeIndex> all_nodes(const HypothesisTree& tree) { return nodes_from(tree, 0); }

RC_GTEST_PROP(HypothesisTree, NodesAttendToTheirAncestorsAndThemselves, ()) {
  const auto tree = *arbitrary_tree();
  const auto num_nodes = static_cast<NodeIndex>(tree.num_nodes());
  RC_PRE(num_nodes > 0);
  const auto nodes = *rc::gen::container<std::vector<NodeIndex>>(in_range<NodeIndex>(0, num_nodes));

  const Relation ancestors = tree.ancestors(nodes);

  std::vector<Edge> ends;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    for (const NodeIndex ancestor : walk_up(tree, nodes[row])) ends.emplace_back(ancestor, row);
  }
  RC_ASSERT(ends_of(ancestors) == ends);
  RC_ASSERT(ancestors.num_sources() == num_nodes);
  RC_ASSERT(ancestors.num_destinations() == std::ssize(nodes));
}

RC_GTEST_PROP(HypothesisTree, PathsHoldTheTokensFromTheFirst, ()) {
  const auto tree = *arbitrary_tree();

  for (NodeIndex node = 0; node < tree.num_nodes(); ++node) {
    std::vector<std::int64_t> tokens;
    for (const NodeIndex ancestor : walk_up(tree, node)) tokens.push_back(tree.token(ancestor));
    RC_ASSERT(tree.path(node) == tokens);
    RC_ASSERT(tree.depth(node) == std::ssize(tokens) - 1);
  }
}

RC_GTEST_PROP(HypothesisTree, NodesAttendToTheWholeInputOfTheirSentence, ()) {
  const auto tree = *arbitrary_tree();
  const std::vector<Interval> inputs = {{0, 2}, {5, 9}, {2, 5}};

  const Relation relation = tree.inputs(all_nodes(tree), inputs, 11);

  std::vector<Edge> ends;
  for (NodeIndex node = 0; node < tree.num_nodes(); ++node) {
    const Interval interval = inputs[static_cast<std::size_t>(tree.sentence(node))];
    for (NodeIndex source = interval.begin; source < interval.end; ++source) ends.emplace_back(source, node);
  }
  RC_ASSERT(ends_of(relation) == ends);
  RC_ASSERT(relation.num_sources() == 11);
  RC_ASSERT(relation.form() == Relation::Form::kIntervals);
}

RC_GTEST_PROP(HypothesisTree, RemovesASentenceAndKeepsTheOthers, ()) {
  const auto before = *arbitrary_tree();
  HypothesisTree after = before;

  after.remove_sentence(1);
  RC_ASSERT(after.nodes_of(1).empty());
  const auto freed = std::ssize(before.nodes_of(1));
  const bool is_all = freed == before.num_nodes();
  for (std::int64_t i = 0; i < freed; ++i) after.grow(3, kRoot, i);

  RC_ASSERT(after.num_nodes() == before.num_nodes());  // the numbers of removed nodes are used again
  const auto again = after.nodes_of(3);
  RC_ASSERT(is_all || std::ranges::equal(again, before.nodes_of(1)));
  for (NodeIndex node = 0; node < before.num_nodes(); ++node) {
    if (before.sentence(node) == 1) continue;
    RC_ASSERT(after.path(node) == before.path(node));
    RC_ASSERT(after.sentence(node) == before.sentence(node));
  }
}

TEST(HypothesisTree, EqualsTheRelationsOfTrainingAfterGreedySearch) {
  // A greedy search grows two sentences by one token each per step.
  const std::vector<Interval> input_intervals = {{0, 3}, {3, 5}};
  constexpr NodeIndex kSteps = 4;
  const std::vector<PairLengths> lengths = {{.input = 3, .output = kSteps}, {.input = 2, .output = kSteps}};
  const Graph training = make_batch_graph(lengths);

  HypothesisTree tree;
  for (NodeIndex step = 0; step < kSteps; ++step) {
    for (NodeIndex sentence = 0; sentence < 2; ++sentence) {
      const NodeIndex node = tree.grow(sentence, step == 0 ? kRoot : 2 * (step - 1) + sentence, /*token=*/step);
      EXPECT_EQ(node, 2 * step + sentence);
    }
    const Relation ancestors = tree.ancestors(nodes_from(tree, 2 * step));
    const Relation inputs = tree.inputs(nodes_from(tree, 2 * step), input_intervals, 5);

    for (NodeIndex sentence = 0; sentence < 2; ++sentence) {
      const std::vector<NodeIndex> tree_row = {sentence};
      const std::vector<NodeIndex> training_row = {sentence * kSteps + step};
      std::vector<Edge> as_trained;  // the tree numbers nodes by step, then sentence; training by sentence, then step
      for (const auto& [source, row] : ends_of(select_rows(ancestors, tree_row))) {
        as_trained.emplace_back(source % 2 * kSteps + source / 2, row);
      }
      EXPECT_EQ(as_trained, ends_of(select_rows(training.relation(kDecoderDecoder), training_row)));
      EXPECT_EQ(select_rows(inputs, tree_row), select_rows(training.relation(kEncoderDecoder), training_row));
    }
  }
}

TEST(HypothesisTree, IsCausalAfterGreedySearchOfOneSentence) {
  HypothesisTree tree;
  for (NodeIndex node = 0; node < 5; ++node) tree.grow(0, node - 1, /*token=*/node);

  EXPECT_EQ(tree.ancestors(all_nodes(tree)), causal(5));
  EXPECT_EQ(tree.ancestors(all_nodes(tree)).form(), Relation::Form::kIntervals);
  EXPECT_EQ(tree.ancestors(nodes_from(tree, 4)), bipartite(5, 1));
}

TEST(HypothesisTree, BranchesWhereBeamsReorder) {
  // A beam of two; at the third step both hypotheses continue the second hypothesis, and the first ends.
  HypothesisTree tree;
  const NodeIndex begin = tree.grow(0, kRoot, 1);
  const NodeIndex first = tree.grow(0, begin, 10);
  const NodeIndex second = tree.grow(0, begin, 11);
  const NodeIndex left = tree.grow(0, second, 12);
  const NodeIndex right = tree.grow(0, second, 13);

  EXPECT_THAT(ends_of(tree.ancestors(nodes_from(tree, left))),
              ElementsAre(Edge{begin, 0}, Edge{second, 0}, Edge{left, 0},  //
                          Edge{begin, 1}, Edge{second, 1}, Edge{right, 1}));
  EXPECT_THAT(tree.path(first), ElementsAre(1, 10));
  EXPECT_THAT(tree.path(left), ElementsAre(1, 11, 12));
  EXPECT_THAT(tree.path(right), ElementsAre(1, 11, 13));
  EXPECT_EQ(tree.inputs(nodes_from(tree, left), std::vector<Interval>{{0, 6}}, 6), bipartite(6, 2));
}

TEST(HypothesisTree, MayHaveNoNodes) {
  HypothesisTree tree;

  EXPECT_EQ(tree.ancestors({}), Relation());
  EXPECT_EQ(tree.inputs({}, std::vector<Interval>{{0, 7}}, 7), bipartite(7, 0));
  EXPECT_TRUE(tree.nodes_of(0).empty());
  tree.remove_sentence(5);
}

TEST(HypothesisTree, NumbersNodesFromZeroAfterAllSentencesAreRemoved) {
  HypothesisTree tree;
  tree.grow(0, kRoot, 1);
  tree.grow(1, kRoot, 2);

  tree.remove_sentence(0);
  tree.remove_sentence(1);

  EXPECT_EQ(tree.num_nodes(), 0);
  EXPECT_EQ(tree.grow(0, kRoot, 3), 0);
}

TEST(HypothesisTree, RejectsUnknownNodesAndSentences) {
  HypothesisTree tree;
  tree.grow(0, kRoot, 1);
  tree.grow(1, kRoot, 1);
  tree.grow(1, 1, 1);
  tree.remove_sentence(0);

  EXPECT_EQ(error_of([&] { tree.grow(-1, kRoot, 1); }), "grow: sentence is -1, needs 0 or more");
  EXPECT_EQ(error_of([&] { tree.grow(0, 3, 1); }), "grow: parent is 3, needs kRoot or a number in [0, 3)");
  EXPECT_EQ(error_of([&] { tree.grow(0, -2, 1); }), "grow: parent is -2, needs kRoot or a number in [0, 3)");
  EXPECT_EQ(error_of([&] { tree.grow(0, 1, 1); }), "grow: parent 1 is of sentence 1, needs a node of sentence 0");
  EXPECT_EQ(error_of([&] { tree.grow(0, 0, 1); }), "grow: parent 0 is of none, needs a node of sentence 0");
  const std::string of_added = "needs one that is there, of the 3 that were added";
  EXPECT_EQ(error_of([&] { tree.parent(3); }), "parent: node is 3, " + of_added);
  EXPECT_EQ(error_of([&] { tree.sentence(-1); }), "sentence: node is -1, " + of_added);
  EXPECT_EQ(error_of([&] { tree.token(0); }), "token: node is 0, " + of_added);
  EXPECT_EQ(error_of([&] { tree.depth(3); }), "depth: node is 3, " + of_added);
  EXPECT_EQ(error_of([&] { tree.path(kRoot); }), "path: node is -1, " + of_added);
  const std::vector<NodeIndex> removed = {0};
  const std::vector<NodeIndex> present = {2};
  EXPECT_EQ(error_of([&] { tree.ancestors(removed); }), "ancestors: node is 0, " + of_added);
  EXPECT_EQ(error_of([&] { tree.inputs(removed, {}, 0); }), "inputs: node is 0, " + of_added);
  EXPECT_EQ(error_of([&] { tree.inputs(present, std::vector<Interval>(1), 0); }),
            "inputs: node 2 is of sentence 1, needs one of 1");
}

}  // namespace
}  // namespace edgewise
