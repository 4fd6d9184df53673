// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "edgewise/models/model_costs.h"
#include "edgewise/models/sequence_model.h"
#include "tests/models/small_models.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

std::int64_t count_numbers(const SequenceModel& model) {
  std::int64_t numbers = 0;
  for (const NamedTensor& parameter : model.parameters()) numbers += parameter.tensor.numel();
  return numbers;
}

/// Calls `visit` with models of all kinds, with each choice that changes the number of parameters.
template <class Visit>
void for_each_choice(const Visit& visit) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.universal.filter_width = 5;
  for (const auto& kind : enum_names(ModelKind{})) {
    for (const auto& tying : enum_names(Tying{})) {
      for (const auto& score : enum_names(ScoreKind{})) {
        for (const auto& transition : enum_names(Transition{})) {
          for (const bool is_on : {false, true}) {
            if (!has_encoder(kind.value) && tying.value == Tying::kAll) continue;
            options.kind = kind.value;
            options.tying = tying.value;
            options.score = score.value;
            options.universal.transition = transition.value;
            options.universal.adaptive = is_on ? AdaptiveSides::kBoth : AdaptiveSides::kDecoderOnly;
            options.attention_bias = options.norm_bias = options.feed_forward_bias = options.output_bias = is_on;
            options.feed_forward_gate = !is_on;
            options.key_value_heads = options.score == ScoreKind::kDot && is_on ? 1 : 0;
            options.final_norm = !is_on;
            options.encoder_layers = is_on ? 3 : 1;
            options.positions =
                is_on && options.kind != ModelKind::kUniversal ? PositionKind::kLearned : PositionKind::kSinusoidal;
            visit(options);
            options.share_layers = true;
            visit(options);
            options.share_layers = false;
            if (options.kind == ModelKind::kTransformer) {
              options.decoder_mixer = DecoderMixer::kSsru;
              options.exits.layers = {1};
              visit(options);
              options.decoder_mixer = DecoderMixer::kAttention;
              options.exits.layers.clear();
            }
            if (options.kind == ModelKind::kUniversal || options.score == ScoreKind::kAdditive) continue;
            options.positions = PositionKind::kT5;
            visit(options);
            options.cross_distance = has_encoder(options.kind);
            visit(options);
            options.cross_distance = false;
          }
        }
      }
    }
  }
}

TEST(ModelMemory, CountsTheParametersThatModelsHave) {
  for_each_choice([](const TransformerOptions& options) {
    EXPECT_EQ(count_parameters(options), count_numbers(*make_model(options, 1)))
        << enum_name(options.kind) << " " << enum_name(options.tying) << " " << enum_name(options.score);
  });
}

TEST(ModelMemory, GrowsWithTheStateOfTheOptimiserAndTheBatch) {
  const TransformerOptions model = small_options(TransformerPreset::kTutorial);
  const auto numbers = static_cast<double>(count_parameters(model));
  TrainOptions train;
  EXPECT_EQ(training_memory(model, train, {}), 4 * 7 * numbers);
  train.average = 0.9;
  EXPECT_EQ(training_memory(model, train, {}), 4 * 9 * numbers);
  EXPECT_EQ(training_memory(model, train, {}, {.processes = 2, .saves = true}), 4 * 7.5 * numbers);
  EXPECT_EQ(training_memory(model, train, {}, {.processes = 2, .saves = false}), 4 * 3.5 * numbers);
  const double batch = training_memory(model, train, {.input = 100, .output = 100}) - 4 * 9 * numbers;
  EXPECT_GT(batch, 4 * 2 * 100 * (2 * 6 * 8 + 2 * 12));
  train.precision = Precision::kBf16;
  train.rdrop = 1;
  EXPECT_EQ(training_memory(model, train, {.input = 100, .output = 100}) - 4 * 9 * numbers, batch);
  std::swap(train.rdrop, train.simcut);
  EXPECT_EQ(training_memory(model, train, {.input = 100, .output = 100}) - 4 * 9 * numbers, batch);
  train.part = TrainedPart::kHalting;
  EXPECT_EQ(training_memory(model, train, {.input = 100, .output = 100}), 4 * 9 * numbers);
  train = {.quantise = ProductRounding::kInt8, .average = 0.9};
  EXPECT_EQ(training_memory(model, train, {}), 4 * 10 * numbers);
  EXPECT_EQ(training_memory(model, train, {.input = 100, .output = 100}) - 4 * 10 * numbers,
            batch + 4 * 100 * 2 * (12 + 12));
}

TEST(ModelMemory, GrowsWithTheEdgesOfAdditiveAttention) {
  TransformerOptions model = small_options(TransformerPreset::kTutorial);
  TrainOptions train;
  BatchTokens batch;
  batch.add_pair(100, 50);
  BatchTokens without_edges = {.input = batch.input, .output = batch.output};
  EXPECT_EQ(training_memory(model, train, batch), training_memory(model, train, without_edges));
  EXPECT_EQ(edge_memory(model, batch), 0);

  model.score = ScoreKind::kAdditive;
  const double ee = 100 * 100;
  const double ed = 100 * 50;
  const double dd = 50 * 51 / 2;
  const auto encoder_layers = static_cast<double>(model.encoder_layers);
  const auto decoder_layers = static_cast<double>(model.decoder_layers);
  const double vectors = encoder_layers * ee + decoder_layers * (ed + dd) + 2 * ed;
  const auto size = static_cast<double>(model.size);
  const double edges = training_memory(model, train, batch) - training_memory(model, train, without_edges);
  EXPECT_EQ(edges, 4 * size * vectors);
  train.rdrop = 1;
  EXPECT_EQ(training_memory(model, train, batch) - training_memory(model, train, without_edges), 2 * edges);
  EXPECT_EQ(edge_memory(model, batch), 3 * 4 * size * ee);
  EXPECT_EQ(attention_map_memory(model, batch),
            2 * 4 * static_cast<double>(model.heads) * (encoder_layers * ee + decoder_layers * (ed + dd)));
}

TEST(ModelMemory, RefusesAModelBeforeAllocatingIt) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.size = options.heads = 65536;
  options.feed_forward = 262144;
  options.encoder_layers = options.decoder_layers = 1000;
  const std::string error = error_of([&] { make_model(options, 1); });
  EXPECT_EQ(error.substr(0, 66), "make_model: a model with 120261182423051 parameters needs at least") << error;
  EXPECT_NE(error.find(" of memory, but "), std::string::npos) << error;
}

}  // namespace
}  // namespace edgewise
