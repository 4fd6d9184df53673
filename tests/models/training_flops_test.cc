// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "edgewise/models/language_model.h"
#include "edgewise/models/model_costs.h"
#include "tests/models/small_models.h"

namespace edgewise {
namespace {

/// Returns the number of elements of all matrices in a part of a model.
template <typename Part>
double matrix_weights(const Part& part) {
  std::int64_t count = 0;
  for (const NamedTensor& parameter : parameters(part)) {
    if (parameter.tensor.dim() == 2) count += parameter.tensor.numel();
  }
  return static_cast<double>(count);
}

TEST(TrainingFlops, AreSixForEachTokenAndWeightThatMultipliesIt) {
  const TransformerOptions options = small_options(TransformerPreset::kTutorial);
  const Transformer model = small_model(options);
  const std::vector<TokenPair> pairs = {{{4, 9, 5}, {2, 7, 6, 3}}, {{8}, {2, 3}}};
  const double tokens = 4;  // on each side

  const double output_projection = 11 * 8;
  const double weights = matrix_weights(model.encoder()) + matrix_weights(model.decoder()) + output_projection;
  const double edges = (9 + 1) + (9 + 1) + (6 + 1);  // encoder, cross, decoder
  EXPECT_EQ(training_flops(options, make_batch(pairs)), 6 * tokens * weights + 12 * 2 * edges * 8);
}

TEST(TrainingFlops, CountTheOutputProjectionOnceForEachExit) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  const std::vector<TokenPair> pairs = {{{4, 9, 5}, {2, 7, 6, 3}}};
  const double without = training_flops(options, make_batch(pairs));
  options.exits.layers = {1};
  EXPECT_EQ(training_flops(options, make_batch(pairs)) - without, 6 * 3 * 11 * 8);
}

TEST(TrainingFlops, AreThoseOfTheDecoderAloneInALanguageModel) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.kind = ModelKind::kLanguageModel;
  options.tying = Tying::kNone;
  const LanguageModel model(options, 1);
  const std::vector<TokenPair> texts = {{{}, {4, 9, 5, 3}}, {{}, {2, 7}}};

  const double weights = matrix_weights(model.decoder()) + 11 * 8;
  EXPECT_EQ(training_flops(options, make_batch(texts)), 6 * 4 * weights + 12 * 2 * (6 + 1) * 8);
}

TEST(TrainingFlops, CountCrossAttentionKeysAndValuesForInputTokens) {
  const TransformerOptions options = small_options(TransformerPreset::kTutorial);
  const auto flops = [&](std::size_t inputs) {
    const std::vector<TokenPair> pairs = {{std::vector<std::int64_t>(inputs, 4), {2, 7, 3}}};
    return training_flops(options, make_batch(pairs));
  };

  // A second input token adds its encoder layers, its keys and values in two decoder layers and, in each of two layers,
  // three encoder edges and two cross edges.
  const double weights = 2 * (4 * 64 + 2 * 8 * 12) + 2 * 2 * 64;
  EXPECT_EQ(flops(2) - flops(1), 6 * weights + 12 * 2 * (3 + 2) * 8);
}

}  // namespace
}  // namespace edgewise
