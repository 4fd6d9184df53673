// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/transformer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "edgewise/base/config/config.h"
#include "edgewise/graph/builders.h"
#include "tests/models/small_models.h"
#include "tests/nn/convert_parameters.h"

namespace edgewise {
namespace {

using Tokens = std::vector<std::int64_t>;

at::Tensor logits_of(const Transformer& model, const std::vector<TokenPair>& pairs) {
  Pass pass = Pass::inference();
  return model.forward(make_batch(pairs), pass);
}

TEST(Transformer, IsAFunctionOfOptionsAndSeed) {
  const TransformerOptions options = small_options(TransformerPreset::kTutorial);
  const auto one = parameters(Transformer(options, 5));
  const auto same = parameters(Transformer(options, 5));
  const auto other = parameters(Transformer(options, 6));

  ASSERT_EQ(one.size(), same.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i].tensor, same[i].tensor));
  EXPECT_FALSE(at::equal(one[0].tensor, other[0].tensor));
}

TEST(Transformer, HasLeafParametersThatAllGetGradients) {
  for (const TransformerPreset preset : all_presets()) {
    const Transformer model(small_options(preset), 1);

    logits_of(model, small_pairs()).sum().backward();

    for (const NamedTensor& named : parameters(model)) {
      EXPECT_TRUE(named.tensor.is_leaf() && named.tensor.requires_grad()) << named.name;
      EXPECT_TRUE(named.tensor.grad().defined()) << named.name;
    }
  }
}

// Heads of 8 and 32 numbers, for which there are kernels on every device; kernels do not compute in fp64.
TEST(Transformer, HasTheLossAndTheGradientsOfFp64InFp32) {
  constexpr double kTolerance = 1e-4;     // many roundings of 2^-24
  constexpr double kCancellation = 1e-6;  // in the gradients of key biases, which are zero
  for (const TransformerPreset preset : all_presets()) {
    for (const std::int64_t size : {16, 64}) {
      TransformerOptions options = small_options(preset);
      options.size = size;
      options.dropout = {.embedding = 0.1, .residual = 0.1, .attention = 0.1, .activation = 0.1};
      const Transformer model(options, 1);
      Transformer exact(options, 1);
      convert_parameters(exact, at::kDouble);
      auto loss_of = [](const Transformer& of) {
        Pass pass = Pass::training(3);
        const at::Tensor loss = of.loss(small_batch(), {}, /*added=*/{}, pass).objective;
        loss.backward();
        return loss.item<double>();
      };

      const double expected = loss_of(exact);

      EXPECT_NEAR(loss_of(model), expected, kTolerance * expected);
      const auto expected_parameters = parameters(exact);
      const auto actual_parameters = parameters(model);
      for (std::size_t i = 0; i < expected_parameters.size(); ++i) {
        SCOPED_TRACE(expected_parameters[i].name);
        const at::Tensor& grad = expected_parameters[i].tensor.grad();
        expect_close(actual_parameters[i].tensor.grad(), grad,
                     kTolerance * grad.abs().max().item<double>() + kCancellation);
      }
    }
  }
}

TEST(Transformer, GivesASentenceTheSameLogitsAloneAndInABatch) {
  for (const TransformerPreset preset : all_presets()) {
    const Transformer model = small_model(small_options(preset));
    const std::vector<TokenPair> pairs = small_pairs();
    const at::Tensor together = logits_of(model, pairs);

    std::int64_t row = 0;
    for (const TokenPair& pair : pairs) {
      const at::Tensor alone = logits_of(model, {pair});
      expect_close(together.narrow(0, row, alone.size(0)), alone, 1e-12);
      row += alone.size(0);
    }
  }
}

TEST(Transformer, ComputesLogitsIndependentOfLaterTokens) {
  for (const TransformerPreset preset : all_presets()) {
    const Transformer model = small_model(small_options(preset));
    const TokenPair pair = {{4, 5, 6}, {2, 7, 8, 9, 3}};
    TokenPair changed = pair;
    changed.output[2] = 10;

    const at::Tensor differs = (logits_of(model, {pair}) - logits_of(model, {changed})).abs().amax(-1) > 1e-9;

    EXPECT_TRUE(at::equal(differs.to(at::kInt), at::tensor({0, 0, 1, 1}, at::kInt)));
  }
}

TEST(Transformer, DependsOnEveryInputTokenAndItsPosition) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  const at::Tensor logits = logits_of(model, {{{4, 5, 6}, {2, 7, 3}}});

  for (const Tokens& input : {Tokens{10, 5, 6}, Tokens{4, 10, 6}, Tokens{4, 5, 10}, Tokens{5, 4, 6}, Tokens{4, 5}}) {
    const at::Tensor difference = logits - logits_of(model, {{input, {2, 7, 3}}});
    EXPECT_GT(difference.abs().amax(-1).min().item<double>(), 1e-6);
  }
}

TEST(Transformer, AppliesDropoutOnlyInTrainingBySeedOfThePass) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.dropout = {.embedding = 0.1, .residual = 0.1, .attention = 0.1, .activation = 0.1};
  const Transformer model(options, 1);
  const Batch batch = small_batch();
  const auto run = [&](Pass pass) { return model.forward(batch, pass); };

  EXPECT_TRUE(at::equal(run(Pass::training(1)), run(Pass::training(1))));
  EXPECT_FALSE(at::equal(run(Pass::training(1)), run(Pass::training(2))));
  EXPECT_TRUE(at::equal(run(Pass::inference()), run(Pass::inference())));
  EXPECT_FALSE(at::equal(run(Pass::training(1)), run(Pass::inference())));
}

TEST(Transformer, AppliesEachKindOfDropoutInAConfig) {
  for (const std::string kind : {"embedding", "residual", "attention", "activation", "word"}) {
    SCOPED_TRACE(kind);
    std::string config = "size = 8\nheads = 2\nfeed_forward = 12\nencoder_layers = 2\ndecoder_layers = 2\n";
    for (const char* other : {"embedding", "residual", "attention", "activation", "word"}) {
      config += std::string("dropout.") + other + " = " + (other == kind ? "0.5" : "0.0") + "\n";
    }
    auto options = parse_config<TransformerOptions>(config, "config");
    options.input_vocabulary = options.output_vocabulary = 11;
    const Transformer model(options, 1);
    const Batch batch = small_batch();
    const auto run = [&](Pass pass) { return model.forward(batch, pass); };

    EXPECT_FALSE(at::equal(run(Pass::training(1)), run(Pass::inference())));
    EXPECT_FALSE(at::equal(run(Pass::training(1)), run(Pass::training(2))));
    EXPECT_TRUE(at::equal(run(Pass::training(1)), run(Pass::training(1))));
  }
}

TEST(Transformer, AddsTheDivergenceOfTwoPassesToTheLossOfRDrop) {
  const Batch batch = small_batch();
  const Batch both = repeat_batch(batch);
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  const auto losses = [&](const Transformer& model, double weight) {
    Pass pass = Pass::training(1);
    return model.loss(both, {}, {.consistency = {.weight = weight}}, pass).objective.item<double>();
  };

  const Transformer without_dropout = small_model(options);
  Pass pass = Pass::training(1);
  const double once = without_dropout.loss(batch, {}, /*added=*/{}, pass).objective.item<double>();
  EXPECT_NEAR(losses(without_dropout, 3), 2 * once, 1e-9);

  options.dropout.residual = 0.4;
  const Transformer with_dropout = small_model(options);
  const double divergence = losses(with_dropout, 1) - losses(with_dropout, 0);
  EXPECT_GT(divergence, 1e-3);
  EXPECT_NEAR(losses(with_dropout, 3) - losses(with_dropout, 0), 3 * divergence, 1e-9);
}

TEST(Transformer, AddsTheDivergenceFromACutPassToTheLossOfSimCut) {
  const Batch batch = small_batch();
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  const auto loss = [&](double cut, double weight) {
    Pass pass = Pass::training(1);
    pass.set_cut(cut);
    return model.loss(repeat_batch(batch), {}, {.consistency = {kernels::ConsistencyKind::kSimCut, weight}}, pass)
        .sums();
  };
  Pass pass = Pass::training(1);
  const LossSums once = model.loss(batch, {}, /*added=*/{}, pass).sums();

  EXPECT_NEAR(loss(/*cut=*/0, 3).loss, once.loss, 1e-9);
  EXPECT_EQ(loss(/*cut=*/0, 3).tokens, once.tokens);
  EXPECT_EQ(loss(/*cut=*/0.5, 3).correct, once.correct);
  const double divergence = loss(/*cut=*/0.5, 1).loss - once.loss;
  EXPECT_GT(divergence, 1e-3);
  EXPECT_NEAR(loss(/*cut=*/0.5, 3).loss, once.loss + 3 * divergence, 1e-9);
}

TEST(Transformer, GivesLogProbabilitiesThatSumToOne) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  const at::Tensor state = random_tensor({5, 8}, 1);

  const at::Tensor log_probabilities = model.log_probabilities(state);

  expect_close(log_probabilities.exp().sum(-1), at::ones({5}, at::kDouble), 1e-12);
  expect_close(log_probabilities, at::log_softmax(model.compute_logits(state), -1), 0.0);
}

at::Tensor parameter(const Transformer& model, const std::string& wanted) {
  at::Tensor found;
  visit_parameters(model, "", [&](const std::string& name, const at::Tensor& tensor) {
    if (name == wanted) found = tensor;
  });
  return found;
}

TEST(Tying, SharesTheTensorsThatItNames) {
  for (const Tying tying : {Tying::kNone, Tying::kOutput, Tying::kAll}) {
    TransformerOptions options = small_options(TransformerPreset::kTutorial);
    options.tying = tying;
    const Transformer model(options, 1);
    const at::Tensor input = parameter(model, "input_embedding.weight");
    const at::Tensor output = parameter(model, "output_embedding.weight");
    const at::Tensor projection = parameter(model, "generator.weight");

    EXPECT_EQ(output.is_same(projection), tying != Tying::kNone);
    EXPECT_EQ(output.is_same(input), tying == Tying::kAll);
    EXPECT_TRUE(parameter(model, "generator.bias").defined());
  }
}

TEST(Tying, SumsTheGradientsOfTheTiedTensors) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.tying = Tying::kAll;
  const Transformer tied = small_model(options);
  options.tying = Tying::kNone;
  const Transformer untied = small_model(options);
  visit_parameters(untied, "", [&](const std::string& name, const at::Tensor& tensor) {
    tensor.detach().copy_(parameter(tied, name));
  });
  const auto gradient = [](const Transformer& model, const std::string& name) { return parameter(model, name).grad(); };

  (logits_of(tied, small_pairs()).pow(2)).sum().backward();
  (logits_of(untied, small_pairs()).pow(2)).sum().backward();

  expect_close(gradient(tied, "input_embedding.weight"),
               gradient(untied, "input_embedding.weight") + gradient(untied, "output_embedding.weight") +
                   gradient(untied, "generator.weight"),
               1e-9);
  expect_close(gradient(tied, "encoder.norm.gain"), gradient(untied, "encoder.norm.gain"), 1e-9);
}

TEST(SharedLayers, HaveTheSumOfTheGradientsOfSeparateLayers) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.encoder_layers = 3;
  options.share_layers = true;
  const Transformer shared = small_model(options);
  options.share_layers = false;
  const Transformer separate = small_model(options);
  visit_parameters(separate, "", [&](const std::string& name, const at::Tensor& tensor) {
    tensor.detach().copy_(parameter(shared, name));
  });
  const auto gradient = [](const Transformer& model, const std::string& name) { return parameter(model, name).grad(); };

  const at::Tensor logits = logits_of(shared, small_pairs());
  logits.pow(2).sum().backward();
  const at::Tensor expected = logits_of(separate, small_pairs());
  expected.pow(2).sum().backward();

  expect_close(logits, expected, 1e-12);
  for (const char* part : {"self_attention.key.weight", "feed_forward.inner.bias"}) {
    const auto of_layer = [&](const Transformer& model, int layer) {
      return gradient(model, fmt::format("encoder.layers.{}.{}", layer, part));
    };
    expect_close(of_layer(shared, 0), of_layer(separate, 0) + of_layer(separate, 1) + of_layer(separate, 2), 1e-9);
  }
  expect_close(gradient(shared, "encoder.norm.gain"), gradient(separate, "encoder.norm.gain"), 1e-9);
}

TEST(Tying, AllowsVocabulariesOfTwoSizesIfOnlyTheOutputIsTied) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.tying = Tying::kOutput;
  options.input_vocabulary = 12;
  options.output_vocabulary = 13;
  const Transformer model(options, 1);

  EXPECT_EQ(logits_of(model, {{{11}, {12, 3}}}).size(1), 13);
}

TEST(Transformer, NamesATokenOutsideTheVocabulary) {
  const Transformer model(small_options(TransformerPreset::kTutorial), 1);

  EXPECT_EQ(error_of([&] {
              logits_of(model, {{{4, 11}, {2, 3}}});
            }),
            "embed: token 1 is 11, needs a number from 0 to 10");
}

TEST(Transformer, NeedsAPositionForEachToken) {
  const Transformer model(small_options(TransformerPreset::kTutorial), 1);
  Pass pass = Pass::inference();

  EXPECT_EQ(error_of([&] {
              model.embed_output(Tokens{4, 5}, Tokens{0}, pass);
            }),
            "Transformer: 2 tokens have 1 positions, needs one each");
}

TEST(Transformer, HasATableOfLearnedPositionsForEachSide) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  const std::int64_t numbers = count_parameters(parameters(Transformer(options, 1)));
  options.positions = PositionKind::kLearned;
  options.max_positions = 5;
  const Transformer model(options, 1);
  std::vector<std::string> names;
  for (const NamedTensor& named : parameters(model)) names.push_back(named.name);

  EXPECT_EQ(std::ranges::count(names, "input_positions.weight"), 1);
  EXPECT_EQ(std::ranges::count(names, "output_positions.weight"), 1);
  EXPECT_EQ(count_parameters(parameters(model)), numbers + 2 * 5 * options.size);
  logits_of(model, {{{4, 5, 6, 7, 8}, {2, 4, 5, 6, 7, 3}}});
  EXPECT_EQ(error_of([&] {
              logits_of(model, {{{4, 5, 6, 7, 8, 9}, {2, 3}}});
            }),
            "Positions: a sentence has position 5, needs positions below model.max_positions, which is 5; shorten the "
            "sentence, for training by data.max_length");
}

TEST(Transformer, GivesTheSameLogitsAfterSavingAndLoading) {
  const TransformerOptions options = small_options(TransformerPreset::kTutorial);
  const Transformer saved(options, 1);
  const std::string bytes = serialize_tensors(parameters(saved));
  const Transformer loaded(options, 2);

  load_tensors(parameters(loaded), SafetensorsFile::parse(bytes, "model.safetensors"), "model.safetensors");

  EXPECT_TRUE(at::equal(logits_of(saved, small_pairs()), logits_of(loaded, small_pairs())));
}

}  // namespace
}  // namespace edgewise
