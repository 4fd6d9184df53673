// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/guided_alignment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/small_models.h"
#include "tests/nn/convert_parameters.h"
#include "tests/support/error_of.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

/// Returns the pairs of small_pairs() with links: decoder nodes with none, one and two of them.
std::vector<TokenPair> linked_pairs() {
  std::vector<TokenPair> pairs = small_pairs();
  pairs[0].links = {{3, 0}, {0, 2}, {1, 2}};
  pairs[2].links = {{1, 0}, {0, 1}, {2, 1}, {2, 4}};
  return pairs;
}

/// Computes the loss from the weights of all heads, in loops over pairs, links and edges.
double loss_in_loops(const Transformer& model, const std::vector<TokenPair>& pairs, const GuidedAlignment& guided) {
  const Batch batch = make_batch(pairs);
  const Relation& relation = batch.graph.relation(kEncoderDecoder);
  std::vector<at::Tensor> weights_EH;
  {
    const AttentionRecorder recorder([&](const Relation& recorded, const AttentionRecorder::Weights& weights) {
      if (&recorded == &relation) weights_EH.push_back(weights(/*head=*/-1).detach().to(at::kDouble));
    });
    Pass pass = Pass::inference();
    model.forward(batch, pass);
  }
  const std::size_t layer = guided.layer < 0 ? weights_EH.size() - 1 : static_cast<std::size_t>(guided.layer);
  const at::Tensor weight_EH = weights_EH.at(layer);
  const at::Tensor weight_E = guided.head < 0 ? weight_EH.mean(1) : weight_EH.select(1, guided.head);
  const EdgeList edges = relation.edges();
  double loss = 0;
  std::int64_t first_encoder = 0;
  std::int64_t first_decoder = 0;
  for (const TokenPair& pair : pairs) {
    for (const auto& [encoder, decoder] : pair.links) {
      const auto links = std::ranges::count(pair.links, decoder, &NodeLink::decoder);
      for (std::size_t e = 0; e < edges.sources.size(); ++e) {
        if (edges.sources[e] != first_encoder + encoder || edges.destinations[e] != first_decoder + decoder) continue;
        const double weight = weight_E[static_cast<std::int64_t>(e)].item<double>();
        loss -= std::log(weight + 1e-6) / static_cast<double>(links);
      }
    }
    first_encoder += std::ssize(pair.input);
    first_decoder += std::ssize(pair.output) - 1;
  }
  return loss;
}

BatchLoss loss_of(const Transformer& model, const Batch& batch, const AddedLosses& added,
                  Precision precision = Precision::kFp32) {
  Pass pass = Pass::training(1, precision);
  return model.loss(batch, {}, added, pass);
}

std::vector<std::pair<std::string, TransformerOptions>> guided_options() {
  std::vector<std::pair<std::string, TransformerOptions>> all = options_without_preset();
  std::erase_if(all, [](const auto& named) { return named.second.cross_distance; });  // whose heads have no weights
  all.emplace_back("tutorial", small_options(TransformerPreset::kTutorial));
  all.emplace_back("additive", small_options(TransformerPreset::kTutorial)).second.score = ScoreKind::kAdditive;
  all.emplace_back("clamped", small_options(TransformerPreset::kTutorial)).second.clamp = 0.5;
  all.emplace_back("exits", small_options(TransformerPreset::kTutorial)).second.exits.layers = {1};
  return all;
}

TEST(GuidedAlignment, AddsTheCrossEntropyOfTheLinksToTheObjective) {
  const Batch batch = make_batch(linked_pairs());
  for (const auto& [name, options] : guided_options()) {
    SCOPED_TRACE(name);
    const Transformer model = small_model(options);
    const BatchLoss plain = loss_of(model, batch, {});
    for (const GuidedAlignment& guided :
         {GuidedAlignment{.weight = 1, .layer = -1, .head = 0}, GuidedAlignment{.weight = 0.5, .layer = 0, .head = 1},
          GuidedAlignment{.weight = 2, .layer = 1, .head = -1}}) {
      const BatchLoss loss = loss_of(model, batch, {.guided = guided});
      EXPECT_NEAR(loss.objective.item<double>() - plain.objective.item<double>(),
                  guided.weight * loss_in_loops(model, linked_pairs(), guided), 1e-9);
      EXPECT_EQ(loss.sums().loss, plain.sums().loss);
    }
  }
}

TEST(GuidedAlignment, CountsTheLinksOfEachPassThatHasALoss) {
  const Batch both = repeat_batch(make_batch(linked_pairs()));
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  const GuidedAlignment guided = {.weight = 1};
  const double once = loss_in_loops(model, linked_pairs(), guided);
  const auto added_by = [&](kernels::ConsistencyKind kind) {
    const Consistency consistency = {kind, 2};
    return loss_of(model, both, {consistency, guided}).objective.item<double>() -
           loss_of(model, both, {.consistency = consistency}).objective.item<double>();
  };
  EXPECT_NEAR(added_by(kernels::ConsistencyKind::kRDrop), 2 * once, 1e-9);
  EXPECT_NEAR(added_by(kernels::ConsistencyKind::kSimCut), once, 1e-9);
}

TEST(GuidedAlignment, HasGradientsThatMatchFiniteDifferences) {
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    for (const std::int64_t head : {-1, 1}) {
      TransformerOptions options = small_options(TransformerPreset::kTutorial);
      options.score = score;
      Transformer model = small_model(options);
      std::vector<at::Tensor> leaves;
      for (const NamedTensor& named : parameters(model)) {
        for (const std::string_view part : {"cross_attention.query", "cross_attention.key", "score_vector"}) {
          if (named.name.find(part) != std::string::npos) leaves.push_back(named.tensor);
        }
      }
      std::vector<at::Tensor> values;
      for (const at::Tensor& leaf : leaves) values.push_back(leaf.detach().clone());
      const Batch batch = make_batch(linked_pairs());
      const auto loss_at = [&](const std::vector<at::Tensor>& x) {
        visit_parameters(model, "", [&](const std::string&, at::Tensor& tensor) {
          for (std::size_t i = 0; i < leaves.size(); ++i) {
            if (tensor.is_same(leaves[i])) tensor = leaves[i] = x[i];
          }
        });
        return loss_of(model, batch, {.guided = {.weight = 3, .layer = 0, .head = head}}).objective;
      };
      expect_gradients_match(loss_at, values);
    }
  }
}

TEST(GuidedAlignment, HasTheLossAndTheGradientsOfFp64InFp32AndNearlyInBf16) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.size = 16;
  options.key_value_heads = 1;
  const Batch batch = make_batch(linked_pairs());
  for (const std::int64_t head : {-1, 1}) {
    const Transformer model(options, 1);
    Transformer exact(options, 1);
    convert_parameters(exact, at::kDouble);
    const AddedLosses added = {.guided = {.weight = 3, .head = head}};
    const at::Tensor expected = loss_of(exact, batch, added).objective;
    expected.backward();
    const at::Tensor actual = loss_of(model, batch, added).objective;
    actual.backward();

    EXPECT_NEAR(actual.item<double>(), expected.item<double>(), 1e-5 * expected.item<double>());
    const auto expected_parameters = parameters(exact);
    const auto actual_parameters = parameters(model);
    for (std::size_t i = 0; i < expected_parameters.size(); ++i) {
      SCOPED_TRACE(expected_parameters[i].name);
      const at::Tensor& grad = expected_parameters[i].tensor.grad();
      expect_close(actual_parameters[i].tensor.grad(), grad, 1e-4 * grad.abs().max().item<double>() + 1e-5);
    }
    const double in_bf16 = loss_of(model, batch, added, Precision::kBf16).objective.item<double>();
    EXPECT_NEAR(in_bf16, expected.item<double>(), 0x1p-7 * expected.item<double>());
  }
}

TEST(GuidedAlignment, BoundsTheLossOfALinkWithoutWeightAndIsZeroWithoutLinks) {
  const at::Tensor weight_EH = at::tensor({0.0, 1.0}, at::kDouble).unsqueeze(1);
  const std::vector<LinkedEdge> link = {{.edge = 0, .share = 1}};
  EXPECT_NEAR(guided_alignment_loss(weight_EH, link).item<double>(), -std::log(1e-6), 1e-12);
  EXPECT_EQ(guided_alignment_loss(weight_EH, {}).item<double>(), 0);
}

TEST(GuidedAlignment, NamesTheLayerOrTheHeadThatAModelLacks) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  const auto error = [&](const GuidedAlignment& guided) {
    return error_of([&] { loss_of(model, make_batch(linked_pairs()), {.guided = guided}); });
  };
  EXPECT_EQ(error({.weight = 1, .layer = 2}), "GuidedHeads: layer is 2, needs one below 2");
  EXPECT_EQ(error({.weight = 1, .head = 2}), "MultiHeadAttention: head is 2, needs a number from 0 to 1");
}

}  // namespace
}  // namespace edgewise
