// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "edgewise/models/transformer_scorer.h"
#include "edgewise/models/universal_scorer.h"
#include "tests/models/small_models.h"

namespace edgewise {

/// Collects what a scorer says of each node of growing trees.
class StepByStep {
 public:
  explicit StepByStep(const Transformer& model, CrossHeads shown = {})
      : scorer_(std::make_unique<TransformerScorer>(model, shown)) {}
  explicit StepByStep(const UniversalTransformer& model, CrossHeads shown = {})
      : scorer_(std::make_unique<UniversalScorer>(model, shown)) {}

  void read(const std::vector<std::int64_t>& places, const std::vector<Tokens>& inputs) {
    scorer_->read(places, inputs);
    for (std::size_t i = 0; i < places.size(); ++i) sentences_[places[i]] = {inputs[i], {}};
  }
  void read(const std::vector<Tokens>& inputs) {
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < inputs.size(); ++i) places.push_back(static_cast<std::int64_t>(i));
    read(places, inputs);
  }

  /// Its number in its tree. The next step computes it.
  NodeIndex grow(std::int64_t place, NodeIndex parent, std::int64_t token) {
    std::vector<Node>& nodes = sentences_.at(place).nodes;
    Tokens path = parent == HypothesisTree::kRoot ? Tokens() : nodes.at(static_cast<std::size_t>(parent)).path;
    path.push_back(token);
    nodes.push_back({path, {}, {}});
    new_nodes_.push_back({place, parent, token});
    return static_cast<NodeIndex>(nodes.size() - 1);
  }

  void step() {
    StepResult result;
    scorer_->step({.nodes = new_nodes_, .all = true, .attention = true}, result);
    auto row = result.log_probabilities.begin();
    auto weights = result.attention.begin();
    for (const NewNode& node : new_nodes_) {
      Sentence& sentence = sentences_.at(node.place);
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

  /// Every node so far against the whole path to it, computed at once.
  template <class Model>
  void expect_full_forward(const Model& model, double tolerance) const {
    for (const auto& [place, sentence] : sentences_) {
      for (const Node& node : sentence.nodes) {
        SCOPED_TRACE(testing::Message() << "place " << place << ", path " << testing::PrintToString(node.path));
        Tokens output = node.path;
        output.push_back(3);  // a batch's decoder reads all but the last token
        GraphPool pool;
        const std::vector<TokenPair> pair = {{sentence.input, output}};
        const Batch batch = make_batch(pool, pair);
        Pass pass = Pass::inference();
        const at::Tensor all = at::log_softmax(model.forward(batch, pass), -1);
        expect_close(at::tensor(node.row).to(at::kDouble), all[-1].to(at::kDouble), tolerance);
      }
    }
  }

  const std::vector<float>& row(std::int64_t place, NodeIndex node) const {
    return sentences_.at(place).nodes.at(static_cast<std::size_t>(node)).row;
  }
  const std::vector<float>& attention(std::int64_t place, NodeIndex node) const {
    return sentences_.at(place).nodes.at(static_cast<std::size_t>(node)).attention;
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
  steps.read(kInputs);
  const std::vector<Tokens> outputs = {{2, 7, 6}, {2}, {2, 4, 5, 6, 7}};
  std::vector<NodeIndex> last(outputs.size(), HypothesisTree::kRoot);
  for (std::size_t t = 0; t < 5; ++t) {
    for (std::size_t s = 0; s < outputs.size(); ++s) {
      if (t >= outputs[s].size()) continue;  // this sentence is finished
      last[s] = steps.grow(static_cast<std::int64_t>(s), last[s], outputs[s][t]);
    }
    steps.step();
  }
}

}  // namespace edgewise
