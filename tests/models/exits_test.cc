// SPDX-License-Identifier: Apache-2.0
// A decoder with exits is one model of each depth: its loss is the mean of their losses.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "tests/models/agreement.h"
#include "tests/models/models_with_exits.h"
#include "tests/models/transformer_scorer.h"
#include "tests/support/all_of.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

using kernels::ConsistencyKind;

/// With two passes, the second one lacks some embeddings, the same ones in each model.
BatchLoss loss_of(const Transformer& model, const Consistency& consistency = {}) {
  const bool has_two_passes = consistency.has_two_passes();
  Pass pass = Pass::training(1);
  if (has_two_passes) pass.set_cut(0.5);
  return model.loss(has_two_passes ? repeat_batch(small_batch()) : small_batch(), {.smoothing = 0.1},
                    {.consistency = consistency}, pass);
}

TEST(DecoderWithExits, HasTheMeanOfTheLossesOfModelsWithItsFirstLayers) {
  for (const ExitWeights weights : all_of<ExitWeights>()) {
    const bool are_equal = weights == ExitWeights::kEqual;
    for (TransformerOptions options : all_kinds_with_exits()) {
      options.exits.weights = weights;
      const Transformer model = small_model(options);
      for (const Consistency& consistency :
           {Consistency(), Consistency{ConsistencyKind::kRDrop, 2}, Consistency{ConsistencyKind::kSimCut, 2}}) {
        const BatchLoss found = loss_of(model, consistency);
        std::vector<BatchLoss> expected;
        for (const std::int64_t depth : {1, 3, 4}) expected.push_back(loss_of(truncate(model, depth), consistency));
        const std::vector<double> share =
            are_equal ? std::vector{1 / 3.0, 1 / 3.0, 1 / 3.0} : std::vector{1 / 8.0, 3 / 8.0, 4 / 8.0};
        at::Tensor mean;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const LossSums sums = i == 2 ? found.sums() : found.exits.at(i).sums();
          EXPECT_EQ(sums.tokens, expected[i].sums().tokens);
          EXPECT_NEAR(sums.loss, expected[i].sums().loss, kTolerance);
          EXPECT_EQ(sums.correct, expected[i].sums().correct);
          const at::Tensor part = expected[i].objective * share[i];
          mean = mean.defined() ? mean + part : part;
        }
        expect_same(model, found.objective, mean);
      }
    }
  }
}

TEST(DecoderWithExits, HasGradientsThatMatchFiniteDifferences) {
  for (const NormPlacement placement : all_of<NormPlacement>()) {
    TransformerOptions options = small_options(TransformerPreset::kTutorial);
    options.decoder_layers = 3;
    options.norm_placement = placement;
    options.exits = {.layers = {1, 2}, .weights = ExitWeights::kRising};
    Transformer model = small_model(options);
    std::vector<at::Tensor> leaves;
    for (const NamedTensor& named : parameters(model)) {
      for (const std::string_view part : {"decoder.norm", "generator", "layers.1.self_attention.value"}) {
        if (named.name.find(part) != std::string::npos) leaves.push_back(named.tensor);
      }
    }
    std::vector<at::Tensor> values;
    for (const at::Tensor& leaf : leaves) values.push_back(leaf.detach().clone());
    expect_gradients_match(
        [&](const std::vector<at::Tensor>& x) {
          visit_parameters(model, "", [&](const std::string&, at::Tensor& tensor) {
            for (std::size_t i = 0; i < leaves.size(); ++i) {
              if (tensor.is_same(leaves[i])) tensor = leaves[i] = x[i];
            }
          });
          return loss_of(model).objective;
        },
        values);
  }
}

TEST(DecoderWithExits, HasNearlyTheSameLossInBf16AsInFp32) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.size = 64;
  options.decoder_layers = 3;
  options.exits.layers = {1, 2};
  const Transformer model(options, 1);
  const auto losses = [&](Precision precision) {
    Pass pass = Pass::training(1, precision);
    const BatchLoss loss = model.loss(small_batch(), {}, /*added=*/{}, pass);
    return std::vector<double>{loss.objective.item<double>(), loss.exits[0].sums().loss, loss.exits[1].sums().loss};
  };

  const std::vector<double> fp32 = losses(Precision::kFp32);
  const std::vector<double> bf16 = losses(Precision::kBf16);

  for (std::size_t i = 0; i < fp32.size(); ++i) {
    EXPECT_NE(bf16[i], fp32[i]);
    EXPECT_NEAR(bf16[i], fp32[i], 0x1p-8 * fp32[i]);
  }
}

/// Returns the log-probabilities of the next token after each token of an output, and the layers that computed it, step
/// by step.
StepResult step_through(const Transformer& model, const TokenPair& pair) {
  TransformerScorer scorer(model);
  const std::vector<std::int64_t> slots = {0};
  const std::vector<std::vector<std::int64_t>> inputs = {pair.input};
  scorer.encode(slots, inputs);
  StepResult all;
  for (std::size_t i = 0; i + 1 < pair.output.size(); ++i) {
    const std::vector<NewNode> nodes = {{0, static_cast<NodeIndex>(i) - 1, pair.output[i]}};
    StepResult step;
    scorer.step({.nodes = nodes, .all = true}, step);
    all.log_probabilities.insert(all.log_probabilities.end(), step.log_probabilities.begin(),
                                 step.log_probabilities.end());
    all.ponder_steps.push_back(step.ponder_steps.at(0));
  }
  return all;
}

TEST(DecoderThatHalts, ComputesABatchAsItComputesEachTokenAlone) {
  PonderHistogram layers;
  for (const TransformerOptions& options : all_kinds_that_halt()) {
    const Transformer model = small_model(options);
    Pass pass = Pass::inference();
    const Batch batch = small_batch();
    const ExitedStates found = model.decode_with_exits(batch, model.encode(batch, pass), pass);
    const at::Tensor log_probabilities = model.log_probabilities(found.state_DM).to(at::kFloat);
    std::int64_t row = 0;
    for (const TokenPair& pair : small_pairs()) {
      const StepResult expected = step_through(model, pair);
      for (std::size_t i = 0; i < expected.ponder_steps.size(); ++i, ++row) {
        ASSERT_EQ(found.layers[static_cast<std::size_t>(row)], expected.ponder_steps[i]);
        ++layers[expected.ponder_steps[i]];
        const auto* begin = expected.log_probabilities.data() + i * 11;
        expect_close(log_probabilities[row], at::tensor(std::vector<float>(begin, begin + 11)), 1e-5);
      }
    }
  }
  EXPECT_EQ(layers.size(), 3U);  // 1, 3 and 4
}

TEST(DecoderThatHalts, HasTheStatesOfAShallowerModelIfAllTokensHaltAtTheFirstExit) {
  TransformerOptions options = all_kinds_that_halt().front();
  const Transformer model = small_model(options);
  const Batch batch = small_batch();
  Pass pass = Pass::inference();
  for (const auto& [bias, depth] : {std::pair(1e3, 1), std::pair(-1e3, 4)}) {
    for (const HaltingUnit& unit : model.exits()) unit.linear.bias.detach().fill_(bias);
    const ExitedStates found = model.decode_with_exits(batch, model.encode(batch, pass), pass);
    const Transformer shallow = truncate(model, depth);
    expect_close(found.state_DM, shallow.decode(batch, shallow.encode(batch, pass), pass), kTolerance);
    EXPECT_EQ(found.layers, std::vector<std::int64_t>(found.layers.size(), depth));
  }
}

TEST(HaltingUnits, LearnWhetherAnExitHasTheTokenOfTheLastLayer) {
  for (const TransformerOptions& options : all_kinds_with_exits()) {
    const Transformer model = small_model(options);
    const Batch batch = small_batch();
    Pass pass = Pass::inference();
    constexpr std::int64_t kIgnored = 6;  // the label of two nodes
    const auto best_tokens = [&](std::int64_t depth) { return truncate(model, depth).forward(batch, pass).argmax(1); };
    std::vector<at::Tensor> states;
    const std::vector<std::int64_t> depths = {1, 3, 4};
    model.decode_at(depths, batch, model.encode(batch, pass), pass, &states);
    const at::Tensor is_counted = at::tensor(batch.labels) != kIgnored;
    at::Tensor expected = at::zeros({}, at::kDouble);
    at::Tensor are_right = is_counted;
    for (const std::size_t exit : {0, 1}) {
      const at::Tensor target = best_tokens(depths[exit]) == best_tokens(4);
      const at::Tensor probability = model.exits()[exit](states[exit].detach());
      const at::Tensor loss = -at::where(target, probability, 1 - probability).log();
      expected = expected + at::where(is_counted, loss, at::zeros_like(loss)).sum() / 2;
      are_right = are_right & ((probability > 0.5) == target);
    }

    const BatchLoss found = model.halting_loss(batch, {.ignored = kIgnored});

    expect_same(model, found.objective, expected);
    EXPECT_NEAR(found.sums().loss, expected.item<double>(), kTolerance);
    EXPECT_EQ(found.sums().correct, are_right.sum().item<std::int64_t>());
    EXPECT_NEAR((found.exits.at(0).sums().loss + found.exits.at(1).sums().loss) / 2, found.sums().loss, kTolerance);
    found.objective.backward();
    for (const NamedTensor& parameter : parameters(model)) {
      EXPECT_EQ(parameter.tensor.grad().defined(), parameter.name.starts_with("exits.")) << parameter.name;
    }
  }
}

TEST(DecoderThatHalts, NeedsLessCertaintyTowardsTheEndOfAnOutput) {
  const ExitOptions exits = {.layers = {1}, .threshold = 0.8, .fall = 4};
  EXPECT_DOUBLE_EQ(exits.threshold_at(0, 10), 0.82);
  EXPECT_DOUBLE_EQ(exits.threshold_at(5, 10), 0.72 + 0.1 * std::exp(-2.0));
  EXPECT_GT(exits.threshold_at(5, 20), exits.threshold_at(5, 10));
  EXPECT_DOUBLE_EQ((ExitOptions{.layers = {1}, .threshold = 0.8, .fall = 0}).threshold_at(7, 10), 0.82);
}

}  // namespace
}  // namespace edgewise
