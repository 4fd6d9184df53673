// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/language_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "edgewise/models/model_attention.h"
#include "edgewise/models/sequence_model.h"
#include "edgewise/ops/loss.h"
#include "tests/models/small_models.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

TransformerOptions language_options(TransformerPreset preset = TransformerPreset::kTutorial) {
  TransformerOptions options = small_options(preset);
  options.kind = ModelKind::kLanguageModel;
  if (options.tying == Tying::kAll) options.tying = Tying::kOutput;
  return options;
}

/// Returns texts of 5, 1 and 4 predicted tokens.
std::vector<TokenPair> small_texts() { return {{{}, {2, 7, 6, 9, 4, 3}}, {{}, {8, 3}}, {{}, {2, 4, 5, 6, 7}}}; }

BatchLoss loss_of(const LanguageModel& model, const std::vector<TokenPair>& texts, double smoothing = 0) {
  Pass pass = Pass::inference();
  return model.loss(make_batch(texts), {.smoothing = smoothing}, /*added=*/{}, pass);
}

/// Computes the logits of a text from full matrices: embeddings, positions, layers with causal attention, final norm
/// and output projection.
at::Tensor dense_logits(const LanguageModel& model, const Batch& batch) {
  const TransformerOptions& options = model.options();
  Pass pass = Pass::inference();
  const auto nodes = static_cast<std::int64_t>(batch.output_tokens.size());
  const at::Tensor later = at::ones({nodes, nodes}, at::kBool).triu(1);
  at::Tensor x = model.embed(batch.output_tokens, batch.output_positions, pass);
  for (const EncoderLayer& layer : model.decoder().layers) {
    const auto& attention = layer.self_attention;
    const Projections projected = attention.get(layer.self_sublayer.first_norm()(x));
    const auto by_head = [](const at::Tensor& t) { return t.transpose(0, 1); };
    const at::Tensor scores = by_head(projected.query).matmul(by_head(projected.key).transpose(1, 2)) /
                              std::sqrt(static_cast<double>(options.size / options.heads));
    const at::Tensor weights = scores.masked_fill(later, -1e300).softmax(-1);
    const at::Tensor average = weights.matmul(by_head(projected.value)).transpose(0, 1).contiguous();
    const bool is_post = options.norm_placement == NormPlacement::kPost;
    x = x + attention.get_o(average);
    if (is_post) x = layer.self_sublayer.norm(x);
    x = x + layer.feed_forward(layer.feed_forward_sublayer.first_norm()(x), pass);
    if (is_post) x = layer.feed_forward_sublayer.norm(x);
  }
  return model.compute_logits(model.decoder().norm(x));
}

TEST(LanguageModel, EqualsAStackOfLayersWithFullMatrices) {
  for (const TransformerPreset preset : all_presets()) {
    for (const PositionKind positions : {PositionKind::kSinusoidal, PositionKind::kLearned}) {
      SCOPED_TRACE(enum_name(preset));
      TransformerOptions options = language_options(preset);
      options.positions = positions;
      const LanguageModel model = randomised(LanguageModel(options, 1));
      const Batch batch = make_batch(std::vector<TokenPair>{{{}, {2, 7, 6, 9, 4, 10, 5, 3}}});
      Pass pass = Pass::inference();

      expect_close(model.forward(batch, pass), dense_logits(model, batch), 1e-10);
    }
  }
}

TEST(LanguageModel, HasTheLossOfEachDocumentAloneInABatch) {
  for (const TransformerPreset preset : all_presets()) {
    const LanguageModel model = randomised(LanguageModel(language_options(preset), 1));
    const std::vector<TokenPair> texts = small_texts();
    double alone = 0;
    std::int64_t tokens = 0;
    for (const TokenPair& text : texts) {
      const LossSums sums = loss_of(model, {text}, 0.1).sums();
      alone += sums.loss;
      tokens += sums.tokens;
    }

    const LossSums together = loss_of(model, texts, 0.1).sums();

    EXPECT_NEAR(together.loss, alone, 1e-10 * alone);
    EXPECT_EQ(together.tokens, tokens);
    EXPECT_EQ(tokens, 10);
  }
}

TEST(LanguageModel, HasTheSmoothedLossOfItsLogits) {
  const LanguageModel model = randomised(LanguageModel(language_options(), 1));
  const Batch batch = make_batch(small_texts());
  Pass pass = Pass::inference();
  const at::Tensor expected =
      smoothed_loss_plain(model.forward(batch, pass), at::tensor(batch.labels), {.smoothing = 0.2});

  EXPECT_NEAR(loss_of(model, small_texts(), 0.2).objective.item<double>(), expected.item<double>(), 1e-9);
}

TEST(LanguageModel, PredictsFromEarlierTokensOnly) {
  const LanguageModel model = randomised(LanguageModel(language_options(), 1));
  const auto logits_of = [&](std::int64_t third) {
    Pass pass = Pass::inference();
    return model.forward(make_batch(std::vector<TokenPair>{{{}, {2, 7, third, 9, 3}}}), pass);
  };

  const at::Tensor differs = (logits_of(5) - logits_of(6)).abs().amax(-1) > 1e-9;

  EXPECT_TRUE(at::equal(differs.to(at::kInt), at::tensor({0, 0, 1, 1}, at::kInt)));
}

TEST(LanguageModel, HasGradientsThatMatchFiniteDifferences) {
  for (const Tying tying : {Tying::kNone, Tying::kOutput}) {
    TransformerOptions options = language_options();
    options.tying = tying;
    options.positions = PositionKind::kLearned;
    options.max_positions = 5;
    LanguageModel model = randomised(LanguageModel(options, 1));
    std::vector<at::Tensor> leaves;
    for (const NamedTensor& named : parameters(model)) leaves.push_back(named.tensor);
    std::vector<at::Tensor> values;
    for (const at::Tensor& leaf : leaves) values.push_back(leaf.detach().clone());
    const auto loss_at = [&](const std::vector<at::Tensor>& x) {
      visit_parameters(model, "", [&](const std::string&, at::Tensor& tensor) {
        for (std::size_t i = 0; i < leaves.size(); ++i) {
          if (tensor.is_same(leaves[i])) tensor = x[i];
        }
      });
      leaves = x;
      return loss_of(model, small_texts(), 0.1).objective;
    };

    expect_gradients_match(loss_at, values);
  }
}

// Kernels do not compute in fp64.
TEST(LanguageModel, HasTheLossAndTheGradientsOfFp64InFp32) {
  constexpr double kTolerance = 1e-4;     // many roundings of 2^-24
  constexpr double kCancellation = 1e-6;  // in the gradients of key biases, which are zero
  TransformerOptions options = language_options();
  options.size = 16;
  options.dropout = {.embedding = 0.1, .residual = 0.1, .attention = 0.1, .activation = 0.1};
  const LanguageModel model(options, 1);
  LanguageModel exact(options, 1);
  convert_parameters(exact, at::kDouble);
  const auto train = [](const LanguageModel& of) {
    Pass pass = Pass::training(3);
    const at::Tensor loss =
        of.loss(repeat_batch(make_batch(small_texts())), {}, {.consistency = {.weight = 2}}, pass).objective;
    loss.backward();
    return loss.item<double>();
  };

  const double expected = train(exact);

  EXPECT_NEAR(train(model), expected, kTolerance * expected);
  const auto expected_parameters = parameters(exact);
  const auto actual_parameters = parameters(model);
  for (std::size_t i = 0; i < expected_parameters.size(); ++i) {
    SCOPED_TRACE(expected_parameters[i].name);
    const at::Tensor& grad = expected_parameters[i].tensor.grad();
    expect_close(actual_parameters[i].tensor.grad(), grad,
                 kTolerance * grad.abs().max().item<double>() + kCancellation);
  }
}

TEST(LanguageModel, NamesItsParametersAsTheDecoderOfATransformer) {
  TransformerOptions options = language_options();
  options.decoder_layers = 1;
  options.tying = Tying::kNone;
  options.positions = PositionKind::kLearned;
  std::set<std::string> names;
  for (const NamedTensor& named : make_model(options, 1)->parameters()) names.insert(named.name);
  options.kind = ModelKind::kTransformer;
  std::set<std::string> expected;
  for (const NamedTensor& named : make_model(options, 1)->parameters()) {
    const bool is_input = named.name.starts_with("input_") || named.name.starts_with("encoder.");
    if (!is_input && named.name.find("cross_attention") == std::string::npos) expected.insert(named.name);
  }

  EXPECT_EQ(names, expected);
  EXPECT_TRUE(names.contains("decoder.layers.0.self_attention.query.weight"));
}

TEST(LanguageModel, RecordsTheAttentionOfItsDecoder) {
  const auto model = make_model(language_options(), 1);

  const ModelAttention attention = record_attention(*model, make_batch(std::vector<TokenPair>{{{}, {2, 7, 6, 3}}}));

  EXPECT_TRUE(attention.encoder.empty());
  EXPECT_TRUE(attention.cross.empty());
  ASSERT_EQ(attention.decoder.size(), 2U);
  for (const DenseAttention& layer : attention.decoder) {
    EXPECT_EQ(layer.rows, 3);
    EXPECT_EQ(layer.columns, 3);
    EXPECT_FLOAT_EQ(layer.weights[0], 1);
    EXPECT_TRUE(std::isnan(layer.weights[1]));
  }
}

TEST(LanguageModel, RefusesABatchWithInputsAndAdaptiveComputation) {
  const auto model = make_model(language_options(), 1);
  Pass pass = Pass::inference();

  EXPECT_EQ(error_of([&] { model->loss(small_batch(), {}, /*added=*/{}, pass); }),
            "LanguageModel: batch has 8 input tokens, needs none");
  EXPECT_EQ(
      error_of([&] { model->ponder_steps(make_batch(small_texts())); }),
      "steps: the model is a language_model, whose nodes take all its layers, needs a universal one, or exits whose "
      "threshold is below 1");
}

}  // namespace
}  // namespace edgewise
