// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "edgewise/models/transformer_scorer.h"
#include "tests/models/small_models.h"

namespace edgewise {
namespace {

/// Collects what a scorer says of each node of a growing tree.
class StepByStep {
 public:
  StepByStep(const Transformer& model, const std::vector<Tokens>& inputs)
      : scorer_(model), inputs_(inputs), tree_(static_cast<std::int64_t>(inputs.size())) {
    scorer_.start(inputs);
  }

  HypothesisTree& tree() { return tree_; }

  void step() {
    const auto first_node = static_cast<NodeIndex>(rows_.size());
    const std::int64_t vocabulary = scorer_.vocabulary_size();
    std::vector<float> values(static_cast<std::size_t>((tree_.num_nodes() - first_node) * vocabulary));
    scorer_.step(tree_, first_node, values);
    for (auto row = values.begin(); row != values.end(); row += vocabulary) rows_.emplace_back(row, row + vocabulary);
  }

  /// Every node so far against the whole path to it, computed at once.
  void expect_full_forward(const Transformer& model, double tolerance) const {
    for (NodeIndex node = 0; node < tree_.num_nodes(); ++node) {
      SCOPED_TRACE(testing::Message() << "node " << node);
      Tokens output = tree_.path(node);
      output.push_back(3);  // a batch's decoder reads all but the last token
      GraphPool pool;
      const std::vector<TokenPair> pair = {{inputs_[static_cast<std::size_t>(tree_.sentence(node))], output}};
      const Batch batch = make_batch(pool, pair);
      Pass pass = Pass::inference();
      const at::Tensor all = model.log_probabilities(model.decode(batch, model.encode(batch, pass), pass));
      expect_close(at::tensor(rows_[static_cast<std::size_t>(node)]).to(at::kDouble), all[-1].to(at::kDouble),
                   tolerance);
    }
  }

  const std::vector<float>& row(NodeIndex node) const { return rows_[static_cast<std::size_t>(node)]; }

 private:
  TransformerScorer scorer_;
  std::vector<Tokens> inputs_;
  HypothesisTree tree_;
  std::vector<std::vector<float>> rows_;
};

const std::vector<Tokens> kInputs = {{4, 9, 5, 3}, {8}, {5, 5, 4}};

void grow_chains(StepByStep& steps) {
  const std::vector<Tokens> outputs = {{2, 7, 6}, {2}, {2, 4, 5, 6, 7}};
  std::vector<NodeIndex> last(outputs.size(), HypothesisTree::kRoot);
  for (std::size_t t = 0; t < 5; ++t) {
    for (std::size_t s = 0; s < outputs.size(); ++s) {
      if (t >= outputs[s].size()) continue;  // this sentence is finished
      last[s] = steps.tree().grow(static_cast<std::int64_t>(s), last[s], outputs[s][t]);
    }
    steps.step();
  }
}

TEST(TransformerScorer, GivesStepByStepWhatThePassOverTheWholeOutputGives) {
  for (const TransformerPreset preset : all_presets()) {
    SCOPED_TRACE(enum_name(preset));
    const Transformer exact = small_model(small_options(preset));
    const Transformer single(small_options(preset), 1);

    StepByStep in_double(exact, kInputs);
    grow_chains(in_double);
    StepByStep in_float(single, kInputs);
    grow_chains(in_float);

    in_double.expect_full_forward(exact, 1e-6);  // its results are floats, whatever computed them
    in_float.expect_full_forward(single, 1e-5);
  }
}

TEST(TransformerScorer, FollowsEachBranchOfATree) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    options.score = score;
    const Transformer model = small_model(options);
    StepByStep steps(model, kInputs);
    HypothesisTree& tree = steps.tree();

    const NodeIndex first = tree.grow(0, HypothesisTree::kRoot, 2);
    const NodeIndex other = tree.grow(2, HypothesisTree::kRoot, 2);
    steps.step();
    const NodeIndex left = tree.grow(0, first, 5);
    const NodeIndex right = tree.grow(0, first, 6);
    tree.grow(2, other, 5);
    steps.step();
    tree.grow(0, right, 7);  // hypotheses change places: nothing is copied, they just grow from another node
    tree.grow(0, right, 8);
    tree.grow(0, left, 7);
    steps.step();
    tree.grow(0, left, 9);  // a hypothesis that rested for a step
    steps.step();

    steps.expect_full_forward(model, 1e-6);
  }
}

TEST(TransformerScorer, TakesSeveralLevelsInOneStep) {
  const Transformer model = small_model(small_options(TransformerPreset::kChapter));
  StepByStep steps(model, kInputs);
  HypothesisTree& tree = steps.tree();

  const NodeIndex first = tree.grow(1, HypothesisTree::kRoot, 2);
  tree.grow(1, tree.grow(1, first, 5), 6);
  steps.step();
  steps.step();  // nothing new

  steps.expect_full_forward(model, 1e-6);
}

TEST(TransformerScorer, ForgetsWhatCameBeforeAStart) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  TransformerScorer scorer(model);
  const auto first_row = [&](const Tokens& input) {
    scorer.start(std::vector<Tokens>{input});
    HypothesisTree tree(1);
    tree.grow(0, HypothesisTree::kRoot, 2);
    std::vector<float> values(11);
    scorer.step(tree, 0, values);
    return values;
  };

  const std::vector<float> before = first_row({4, 5, 6});
  const std::vector<float> between = first_row({7});

  EXPECT_NE(between, before);
  EXPECT_EQ(first_row({4, 5, 6}), before);
}

TEST(TransformerScorer, LetsTrainingGoOnWhereItWas) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  StepByStep steps(model, kInputs);
  grow_chains(steps);

  // Decoding saw these positions first; autograd must be able to use what it left.
  Pass pass = Pass::inference();
  model.forward(small_batch(), pass).sum().backward();

  for (const NamedTensor& named : parameters(model)) EXPECT_TRUE(named.tensor.grad().defined()) << named.name;
}

TEST(TransformerScorer, SaysHowItWantsToBeCalled) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  TransformerScorer scorer(model);
  HypothesisTree tree(3);
  tree.grow(0, HypothesisTree::kRoot, 2);
  tree.grow(1, HypothesisTree::kRoot, 2);
  std::vector<float> values(22);

  EXPECT_EQ(error_of([&] { scorer.step(tree, 0, values); }),
            "TransformerScorer::step: no inputs were read, call start first");
  scorer.start(kInputs);
  EXPECT_EQ(error_of([&] { scorer.step(tree, 1, values); }),
            "TransformerScorer::step: first_node is 1, needs 0, the number of nodes computed so far");
  EXPECT_EQ(error_of([&] { scorer.step(tree, 0, std::span(values).first(11)); }),
            "TransformerScorer::step: log_probabilities has room for 11 values, 2 new nodes need 22");
  scorer.step(tree, 0, values);
}

TEST(GrowingRows, KeepAllRowsAndMoveOnlyWhenFull) {
  GrowingRows rows;
  std::vector<at::Tensor> appended;
  int moves = 0;
  const void* place = nullptr;
  for (std::uint64_t i = 0; i < 100; ++i) {
    appended.push_back(random_tensor({static_cast<std::int64_t>(i % 4), 2, 3}, i));
    rows.append(appended.back());
    if (rows.size() > 0 && rows.all().data_ptr() != place) {
      place = rows.all().data_ptr();
      ++moves;
    }
  }

  EXPECT_TRUE(at::equal(rows.all(), at::cat(appended)));
  EXPECT_LE(moves, 9);  // 150 rows, doubled from 1
  EXPECT_TRUE(rows.all().is_contiguous());
}

}  // namespace
}  // namespace edgewise
