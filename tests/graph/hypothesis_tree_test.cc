// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/hypothesis_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/graph_pool.h"
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
    HypothesisTree tree(num_sentences);
    for (auto count = *in_range(0, 20); count > 0; --count) {
      const auto parent = *in_range<NodeIndex>(kRoot, static_cast<NodeIndex>(tree.num_nodes()));
      const auto sentence = parent == kRoot ? *in_range<std::int64_t>(0, num_sentences) : tree.sentence(parent);
      tree.grow(sentence, parent, *in_range<std::int64_t>(0, 100));
    }
    return tree;
  });
}

/// `node` and all above it, found by walking, from the root down.
std::vector<NodeIndex> walk_up(const HypothesisTree& tree, NodeIndex node) {
  std::vector<NodeIndex> walked;
  for (; node != kRoot; node = tree.parent(node)) walked.insert(walked.begin(), node);
  return walked;
}

RC_GTEST_PROP(HypothesisTree, NodesSeeTheirAncestorsAndThemselves, ()) {
  const auto tree = *arbitrary_tree();
  const auto num_nodes = static_cast<NodeIndex>(tree.num_nodes());
  const auto first_node = *in_range<NodeIndex>(0, num_nodes + 1);

  const Relation ancestors = tree.ancestors(first_node);

  std::vector<Edge> ends;
  for (NodeIndex node = first_node; node < num_nodes; ++node) {
    for (const NodeIndex ancestor : walk_up(tree, node)) ends.emplace_back(ancestor, node - first_node);
  }
  RC_ASSERT(ends_of(ancestors) == ends);
  RC_ASSERT(ancestors.num_sources() == num_nodes);
  RC_ASSERT(ancestors.num_destinations() == num_nodes - first_node);
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

RC_GTEST_PROP(HypothesisTree, NodesSeeTheWholeInputOfTheirSentence, ()) {
  const auto tree = *arbitrary_tree();
  const auto lengths =
      *rc::gen::container<std::vector<std::int64_t>>(tree.num_sentences(), in_range<std::int64_t>(0, 5));
  GraphPool pool;
  const Graph inputs = pool.inputs(lengths);

  const Relation relation = tree.inputs(0, lengths);

  std::vector<Edge> ends;
  for (NodeIndex node = 0; node < tree.num_nodes(); ++node) {
    for (const NodeIndex source : inputs.nodes(kEncoder, tree.sentence(node))) ends.emplace_back(source, node);
  }
  RC_ASSERT(ends_of(relation) == ends);
  RC_ASSERT(relation.num_sources() == inputs.set_size(kEncoder));
  RC_ASSERT(relation.form() == Relation::Form::kIntervals);
}

TEST(HypothesisTree, GrowsGreedilyIntoTheRelationsOfTraining) {
  // Two sentences, a token of each at every step, as a greedy search grows them.
  const std::vector<std::int64_t> input_lengths = {3, 2};
  constexpr NodeIndex kSteps = 4;
  GraphPool pool;
  const std::vector<PairLengths> lengths = {{.input = 3, .output = kSteps}, {.input = 2, .output = kSteps}};
  const Graph training = pool.batch(lengths);

  HypothesisTree tree(2);
  for (NodeIndex step = 0; step < kSteps; ++step) {
    for (NodeIndex sentence = 0; sentence < 2; ++sentence) {
      const NodeIndex node = tree.grow(sentence, step == 0 ? kRoot : 2 * (step - 1) + sentence, /*token=*/step);
      EXPECT_EQ(node, 2 * step + sentence);
    }
    const Relation ancestors = tree.ancestors(2 * step);
    const Relation inputs = tree.inputs(2 * step, input_lengths);

    for (NodeIndex sentence = 0; sentence < 2; ++sentence) {
      const std::vector<NodeIndex> tree_row = {sentence};
      const std::vector<NodeIndex> training_row = {sentence * kSteps + step};
      std::vector<Edge> as_trained;  // the tree counts by step, then sentence; training by sentence, then step
      for (const auto& [source, row] : ends_of(select_rows(ancestors, tree_row))) {
        as_trained.emplace_back(source % 2 * kSteps + source / 2, row);
      }
      EXPECT_EQ(as_trained, ends_of(select_rows(training.relation(kDecoderDecoder), training_row)));
      EXPECT_EQ(select_rows(inputs, tree_row), select_rows(training.relation(kEncoderDecoder), training_row));
    }
  }
}

TEST(HypothesisTree, OfOneSentenceGrownGreedilyIsCausal) {
  HypothesisTree tree(1);
  for (NodeIndex node = 0; node < 5; ++node) tree.grow(0, node - 1, /*token=*/node);

  EXPECT_EQ(tree.ancestors(0), causal(5));
  EXPECT_EQ(tree.ancestors(0).form(), Relation::Form::kIntervals);
  EXPECT_EQ(tree.ancestors(4), bipartite(5, 1));
}

TEST(HypothesisTree, BranchesWhereBeamsReorder) {
  // Two beams; at the third step both go on from the second hypothesis, and the first ends unfinished.
  HypothesisTree tree(1);
  const NodeIndex begin = tree.grow(0, kRoot, 1);
  const NodeIndex first = tree.grow(0, begin, 10);
  const NodeIndex second = tree.grow(0, begin, 11);
  const NodeIndex left = tree.grow(0, second, 12);
  const NodeIndex right = tree.grow(0, second, 13);

  EXPECT_THAT(ends_of(tree.ancestors(left)), ElementsAre(Edge{begin, 0}, Edge{second, 0}, Edge{left, 0},  //
                                                         Edge{begin, 1}, Edge{second, 1}, Edge{right, 1}));
  EXPECT_THAT(tree.path(first), ElementsAre(1, 10));
  EXPECT_THAT(tree.path(left), ElementsAre(1, 11, 12));
  EXPECT_THAT(tree.path(right), ElementsAre(1, 11, 13));
  EXPECT_EQ(tree.inputs(left, std::vector<std::int64_t>{6}), bipartite(6, 2));
}

TEST(HypothesisTree, MayHaveNoNodesOrSentences) {
  const HypothesisTree tree;

  EXPECT_EQ(tree.ancestors(0), Relation());
  EXPECT_EQ(tree.inputs(0, {}), Relation());
  EXPECT_EQ(HypothesisTree(2).inputs(0, std::vector<std::int64_t>{3, 4}), bipartite(7, 0));
  EXPECT_THAT(ends_of(HypothesisTree(2).ancestors(0)), IsEmpty());
}

TEST(HypothesisTree, NamesWhatDoesNotFit) {
  HypothesisTree tree(2);
  tree.grow(0, kRoot, 1);

  EXPECT_EQ(error_of([] { HypothesisTree(-1); }), "HypothesisTree: num_sentences is -1, needs 0 or more");
  EXPECT_EQ(error_of([&] { tree.grow(2, kRoot, 1); }), "grow: sentence is 2, needs a number in [0, 2)");
  EXPECT_EQ(error_of([&] { tree.grow(0, 1, 1); }), "grow: parent is 1, needs kRoot or a number in [0, 1)");
  EXPECT_EQ(error_of([&] { tree.grow(0, -2, 1); }), "grow: parent is -2, needs kRoot or a number in [0, 1)");
  EXPECT_EQ(error_of([&] { tree.grow(1, 0, 1); }), "grow: parent 0 is of sentence 0, needs a node of sentence 1");
  EXPECT_EQ(error_of([&] { tree.parent(1); }), "parent: node is 1, needs a number in [0, 1)");
  EXPECT_EQ(error_of([&] { tree.sentence(-1); }), "sentence: node is -1, needs a number in [0, 1)");
  EXPECT_EQ(error_of([&] { tree.token(1); }), "token: node is 1, needs a number in [0, 1)");
  EXPECT_EQ(error_of([&] { tree.depth(1); }), "depth: node is 1, needs a number in [0, 1)");
  EXPECT_EQ(error_of([&] { tree.path(kRoot); }), "path: node is -1, needs a number in [0, 1)");
  EXPECT_EQ(error_of([&] { tree.ancestors(2); }), "ancestors: first_node is 2, needs a number from 0 to 1");
  EXPECT_EQ(error_of([&] {
              tree.inputs(-1, std::vector<std::int64_t>{1, 1});
            }),
            "inputs: first_node is -1, needs a number from 0 to 1");
  EXPECT_EQ(error_of([&] { tree.inputs(0, std::vector<std::int64_t>{1}); }),
            "inputs: input_lengths has 1 entries, needs 2, one a sentence");
  EXPECT_EQ(error_of([&] {
              tree.inputs(0, std::vector<std::int64_t>{2, -1});
            }),
            "inputs: input_lengths[1] is -1, needs a number from 0 to 2147483645");
  EXPECT_EQ(error_of([&] {
              tree.inputs(0, std::vector<std::int64_t>{2'000'000'000, 2'000'000'000});
            }),
            "inputs: input_lengths[1] is 2000000000, needs a number from 0 to 147483647");
}

}  // namespace
}  // namespace edgewise
