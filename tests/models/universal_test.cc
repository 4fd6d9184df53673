// SPDX-License-Identifier: Apache-2.0
// The Universal Transformer: message passing with filters and fused computation on gathered rows agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "edgewise/models/universal_transformer.h"
#include "tests/models/agreement.h"
#include "tests/models/universal_models.h"
#include "tests/nn/convert_parameters.h"
#include "tests/support/error_of.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

std::vector<std::int64_t> steps_of(const MessageGraph& graph, std::string_view set) {
  const at::Tensor steps = graph.ndata().get("step", graph.nodes(set));
  return {steps.const_data_ptr<std::int64_t>(), steps.const_data_ptr<std::int64_t>() + steps.numel()};
}

void expect_agreement(const UniversalTransformer& model, const Batch& batch) {
  MessageGraph graph(batch.graph);
  Pass pass = Pass::inference();
  const at::Tensor by_messages = model.forward_by_messages(graph, batch, pass);
  const AdaptiveResult encoded = model.encode(batch, pass);
  const AdaptiveResult decoded = model.decode(batch, encoded.state_NM, pass);

  expect_same(model, model.forward(batch, pass), by_messages);
  EXPECT_EQ(encoded.steps, steps_of(graph, kEncoder));
  EXPECT_EQ(decoded.steps, steps_of(graph, kDecoder));
}

TEST(UniversalTransformer, AgreesByMessagesAndFusedForAllOptions) {
  for (const TransformerOptions& options : all_kinds_of_universal_options()) {
    SCOPED_TRACE(description(options));
    expect_agreement(universal_model(options), small_batch());
  }
}

TEST(UniversalTransformer, HaltsNodesAtDifferentSteps) {
  const UniversalTransformer model = universal_model(universal_options());
  Pass pass = Pass::inference();
  const AdaptiveResult encoded = model.encode(small_batch(), pass);

  const std::set<std::int64_t> different(encoded.steps.begin(), encoded.steps.end());
  EXPECT_GE(different.size(), 3U);
  EXPECT_GE(*different.begin(), 1);
  EXPECT_LE(*different.rbegin(), 6);
}

/// Returns a bias for which six times the halting probability, added up in fp32, is below the exact sum.
float bias_with_rounded_sum() {
  for (float bias = -1.7f; bias < 1; bias += 1e-3f) {
    const auto p = at::sigmoid(at::tensor(bias)).item<float>();
    if (p + p + p + p + p + p < static_cast<float>(6.0 * p)) return bias;
  }
  ADD_FAILURE() << "no sum is rounded down";
  return 0;
}

TEST(UniversalTransformer, HaltsAtTheExactThresholdByMessagesAndFused) {
  const float bias = bias_with_rounded_sum();
  TransformerOptions options = universal_options();
  options.encoder_layers = 8;
  options.universal.epsilon = 1.0 - 6.0 * at::sigmoid(at::tensor(bias)).item<float>();
  UniversalTransformer model = universal_model(options);
  convert_parameters(model, at::kFloat);
  for (const NamedTensor& named : parameters(model)) {
    if (named.name.ends_with("halting.linear.weight")) named.tensor.detach().fill_(0);
    if (named.name.ends_with("halting.linear.bias")) named.tensor.detach().fill_(bias);
  }
  const Batch batch = small_batch();
  MessageGraph graph(batch.graph);
  Pass pass = Pass::inference();
  model.forward_by_messages(graph, batch, pass);

  const std::vector<std::int64_t> steps = model.encode(batch, pass).steps;

  EXPECT_EQ(steps, std::vector<std::int64_t>(steps.size(), 6));
  EXPECT_EQ(steps_of(graph, kEncoder), steps);
}

TEST(UniversalTransformer, TakesAllStepsWhereASideDoesNotAdapt) {
  TransformerOptions options = universal_options();
  options.universal.adaptive = AdaptiveSides::kDecoderOnly;
  const UniversalTransformer model = universal_model(options);
  Pass pass = Pass::inference();
  const AdaptiveResult encoded = model.encode(small_batch(), pass);

  EXPECT_TRUE(std::ranges::all_of(encoded.steps, [](std::int64_t steps) { return steps == 6; }));
  EXPECT_FALSE(encoded.ponder_cost.defined());
}

TEST(UniversalTransformer, GivesASentenceTheSameLogitsAloneAndInABatch) {
  const UniversalTransformer model = universal_model(universal_options());
  Pass pass = Pass::inference();
  const at::Tensor together = model.forward(small_batch(), pass);

  std::int64_t row = 0;
  for (const TokenPair& pair : small_pairs()) {
    const at::Tensor alone = model.forward(make_batch(std::span(&pair, 1)), pass);
    expect_close(alone, together.narrow(0, row, alone.size(0)), kTolerance);
    row += alone.size(0);
  }
}

TEST(UniversalTransformer, AddsThePonderCostToTheObjectiveForEachLabel) {
  TransformerOptions options = universal_options();
  options.universal.ponder_weight = 0.3;
  const UniversalTransformer model = universal_model(options);
  const Batch batch = small_batch();
  Pass pass = Pass::inference();
  const auto loss = model.loss(batch, {}, /*added=*/{}, pass);

  MessageGraph graph(batch.graph);
  model.forward_by_messages(graph, batch, pass);
  const at::Tensor cost = graph.ndata().get("r").squeeze(-1) + graph.ndata().get("step").to(at::kDouble);
  const double expected = 0.3 * cost.mean().item<double>() * static_cast<double>(batch.labels.size());
  EXPECT_NEAR(loss.objective.item<double>() - loss.sums().loss, expected, 1e-9);
  const auto simcut =
      model.loss(repeat_batch(batch), {}, {.consistency = {kernels::ConsistencyKind::kSimCut, 2}}, pass);
  EXPECT_NEAR(simcut.objective.item<double>() - simcut.sums().loss, expected, 1e-9);  // it counts the labels once
}

TEST(UniversalTransformer, HasGradientsThatMatchFiniteDifferences) {
  for (TransformerOptions options : all_kinds_of_universal_options()) {
    if (options.preset != TransformerPreset::kTutorial || options.universal.adaptive != AdaptiveSides::kBoth) continue;
    SCOPED_TRACE(description(options));
    options.encoder_layers = options.decoder_layers = 3;
    options.universal.ponder_weight = 0.1;
    UniversalTransformer model = universal_model(options);
    std::vector<at::Tensor> leaves;
    for (const NamedTensor& named : parameters(model)) {
      for (const std::string_view part : {"halting", "self_attention.key", "filter", "feed_forward_norm"}) {
        if (named.name.find(part) != std::string::npos) leaves.push_back(named.tensor);
      }
    }
    std::vector<at::Tensor> values;
    for (const at::Tensor& leaf : leaves) values.push_back(leaf.detach().clone());
    const auto loss_at = [&](const std::vector<at::Tensor>& x) {
      visit_parameters(model, "", [&](const std::string&, at::Tensor& tensor) {
        for (std::size_t i = 0; i < leaves.size(); ++i) {
          if (tensor.is_same(leaves[i])) tensor = leaves[i] = x[i];
        }
      });
      Pass pass = Pass::inference();
      return model.loss(small_batch(), {}, /*added=*/{}, pass).objective;
    };
    expect_gradients_match(loss_at, values);
  }
}

TEST(UniversalTransformer, HasNearlyTheSameLossInBf16AsInFp32) {
  // A number changes by at most 2^-9 of itself when it is rounded to bf16. The errors of the tokens partly cancel in
  // the loss, which changes by up to 0.0016.
  constexpr double kTwoRoundings = 0x1p-8;
  for (TransformerOptions options : all_kinds_of_universal_options()) {
    for (const ScoreKind score : all_of<ScoreKind>()) {
      SCOPED_TRACE(description(options));
      if (options.log_scale && score != ScoreKind::kDot) continue;
      options.score = score;
      const UniversalTransformer model(options, 1);
      Pass fp32 = Pass::training(1);
      Pass bf16 = Pass::training(1, Precision::kBf16);
      const double exact = model.loss(small_batch(), {}, /*added=*/{}, fp32).objective.item<double>();
      EXPECT_NEAR(model.loss(small_batch(), {}, /*added=*/{}, bf16).objective.item<double>(), exact,
                  kTwoRoundings * exact);
    }
  }
}

TEST(UniversalTransformer, DropsTheSameWordsByMessagesAndFused) {
  TransformerOptions options = universal_options();
  options.dropout.word = 0.5;
  const UniversalTransformer model = universal_model(options);
  const Batch batch = small_batch();
  Pass no_dropout = Pass::inference();
  Pass for_fused = Pass::training(7);
  Pass for_messages = Pass::training(7);
  MessageGraph graph(batch.graph);

  const at::Tensor fused = model.forward(batch, for_fused);

  expect_same(model, fused, model.forward_by_messages(graph, batch, for_messages));
  EXPECT_FALSE(fused.equal(model.forward(batch, no_dropout)));
}

TEST(UniversalTransformer, HasHaltingUnitsOnItsAdaptiveSidesOnly) {
  for (const AdaptiveSides sides : all_of<AdaptiveSides>()) {
    SCOPED_TRACE(enum_name(sides));
    TransformerOptions options = universal_options();
    options.universal.adaptive = sides;
    const UniversalTransformer model(options, 1);
    const auto has = [&model](std::string_view prefix) {
      return std::ranges::any_of(parameters(model),
                                 [prefix](const NamedTensor& named) { return named.name.starts_with(prefix); });
    };
    EXPECT_EQ(has("encoder.halting"), encoder_adapts(sides));
    EXPECT_EQ(has("decoder.halting"), decoder_adapts(sides));
  }
}

TEST(UniversalTransformer, InitialisesTheConvolutionToTheIdentity) {
  TransformerOptions options = universal_options();
  const UniversalTransformer plain(options, 1);
  options.universal.transition = Transition::kSeparableConvolution;
  const UniversalTransformer convolving(options, 1);
  Pass pass = Pass::inference();

  EXPECT_TRUE(convolving.forward(small_batch(), pass).equal(plain.forward(small_batch(), pass)));
}

TEST(UniversalTransformer, RejectsAConvolutionWithDroppedKeys) {
  TransformerOptions options = universal_options();
  options.universal.transition = Transition::kSeparableConvolution;
  options.universal.halted_keys = HaltedKeys::kDropped;

  EXPECT_EQ(error_of([&] { UniversalTransformer(options, 1); }),
            "Transformer: universal.halted_keys is dropped, needs frozen with "
            "universal.transition=separable_convolution");
}

}  // namespace
}  // namespace edgewise
