// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "edgewise/models/sequence_model.h"
#include "tests/models/model_scorer.h"
#include "tests/models/small_models.h"
#include "tests/models/transformer_scorer.h"
#include "tests/models/universal_scorer.h"

namespace edgewise {

/// Runs a scorer step by step on growing trees, and keeps its results for each node.
class StepByStep {
 public:
  explicit StepByStep(const Transformer& model, CrossHeads recorded = {})
      : scorer_(std::make_unique<TransformerScorer>(model, recorded)) {}
  explicit StepByStep(const UniversalTransformer& model, CrossHeads recorded = {})
      : scorer_(std::make_unique<UniversalScorer>(model, recorded)) {}

  void encode(const std::vector<std::int64_t>& slots, const std::vector<Tokens>& inputs) {
    scorer_->encode(slots, inputs);
    for (std::size_t i = 0; i < slots.size(); ++i) sentences_[slots[i]] = {inputs[i], {}};
  }
  void encode(const std::vector<Tokens>& inputs) {
    std::vector<std::int64_t> slots;
    for (std::size_t i = 0; i < inputs.size(); ++i) slots.push_back(static_cast<std::int64_t>(i));
    encode(slots, inputs);
  }

  /// Adds a node, which the next step computes, and returns its number in its tree.
  NodeIndex grow(std::int64_t slot, NodeIndex parent, std::int64_t token) {
    std::vector<Node>& nodes = sentences_.at(slot).nodes;
    Tokens path = parent == HypothesisTree::kRoot ? Tokens() : nodes.at(static_cast<std::size_t>(parent)).path;
    path.push_back(token);
    nodes.push_back({path, {}, {}});
    new_nodes_.push_back({slot, parent, token});
    return static_cast<NodeIndex>(nodes.size() - 1);
  }

  void step() {
    StepResult result;
    scorer_->step({.nodes = new_nodes_, .all = true, .attention = true}, result);
    auto row = result.log_probabilities.begin();
    auto weights = result.attention.begin();
    for (const NewNode& node : new_nodes_) {
      Sentence& sentence = sentences_.at(node.slot);
      const auto is_new = [](const Node& other) { return other.row.empty(); };
      Node& target = *std::ranges::find_if(sentence.nodes, is_new);
      target.row.assign(row, row + scorer_->vocabulary_size());
      target.attention.assign(weights, weights + std::ssize(sentence.input));
      row += scorer_->vocabulary_size();
      weights += std::ssize(sentence.input);
    }
    EXPECT_EQ(row, result.log_probabilities.end());
    EXPECT_EQ(weights, result.attention.end());
    new_nodes_.clear();
  }

  /// Compares the log-probabilities of every node with those of one forward pass over the path to it.
  template <class Model>
  void expect_full_forward(const Model& model, double tolerance) const {
    for (const auto& [slot, sentence] : sentences_) {
      for (const Node& node : sentence.nodes) {
        SCOPED_TRACE(testing::Message() << "slot " << slot << ", path " << testing::PrintToString(node.path));
        Tokens output = node.path;
        output.push_back(3);  // the decoder input is the output without its last token
        const std::vector<TokenPair> pair = {{sentence.input, output}};
        const Batch batch = make_batch(pair);
        Pass pass = Pass::inference();
        const at::Tensor all = at::log_softmax(model.forward(batch, pass), -1);
        expect_close(at::tensor(node.row).to(at::kDouble), all[-1].to(at::kDouble), tolerance);
      }
    }
  }

  const std::vector<float>& row(std::int64_t slot, NodeIndex node) const {
    return sentences_.at(slot).nodes.at(static_cast<std::size_t>(node)).row;
  }
  const std::vector<float>& attention(std::int64_t slot, NodeIndex node) const {
    return sentences_.at(slot).nodes.at(static_cast<std::size_t>(node)).attention;
  }

 private:
  struct Node {
    Tokens path;
    std::vector<float> row;
    std::vector<float> attention;
  };
  struct Sentence {
    Tokens input;
    std::vector<Node> nodes;
  };

  std::unique_ptr<Scorer> scorer_;
  std::map<std::int64_t, Sentence> sentences_;
  std::vector<NewNode> new_nodes_;
};

inline const std::vector<Tokens> kInputs = {{4, 9, 5, 3}, {8}, {5, 5, 4}};

inline void grow_chains(StepByStep& steps) {
  steps.encode(kInputs);
  const std::vector<Tokens> outputs = {{2, 7, 6}, {2}, {2, 4, 5, 6, 7}};
  std::vector<NodeIndex> last(outputs.size(), HypothesisTree::kRoot);
  for (std::size_t t = 0; t < 5; ++t) {
    for (std::size_t s = 0; s < outputs.size(); ++s) {
      if (t >= outputs[s].size()) continue;  // this sentence has ended
      last[s] = steps.grow(static_cast<std::int64_t>(s), last[s], outputs[s][t]);
    }
    steps.step();
  }
}

/// Expects that a failed encode leaves the inputs of all slots as they were.
inline void expect_errors_leave_slots(const SequenceModel& model) {
  const auto first_scores = [](Scorer& scorer) {
    const std::vector<NewNode> nodes = {{0, HypothesisTree::kRoot, 2}};
    StepResult result;
    scorer.step({.nodes = nodes, .all = true}, result);
    return result.log_probabilities;
  };
  const std::vector<std::int64_t> slots = {0};
  const std::vector<Tokens> inputs = {{4, 5, 6}};
  const std::vector<Tokens> unknown_token = {{4, 99}};
  const std::vector<Tokens> no_token = {{}};
  const auto expected = make_scorer(model);
  expected->encode(slots, inputs);
  const auto scorer = make_scorer(model);
  scorer->encode(slots, inputs);

  EXPECT_THROW(scorer->encode(slots, unknown_token), Error);
  EXPECT_THROW(scorer->encode(slots, no_token), Error);

  EXPECT_EQ(first_scores(*scorer), first_scores(*expected));
}

}  // namespace edgewise
