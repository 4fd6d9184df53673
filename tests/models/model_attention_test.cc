// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/model_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "edgewise/models/transformer.h"
#include "tests/models/universal_models.h"

namespace edgewise {
namespace {

const TokenPair kPair = {.input = {4, 5, 6, 7, 8}, .output = {2, 9, 4, 10, 3}};

Batch batch_of(const TokenPair& pair) {
  GraphPool pool;
  return make_batch(pool, std::span(&pair, 1));
}

/// Parameters large enough for weights that differ, and halting units that let nodes go at different steps.
std::shared_ptr<const SequenceModel> lively_model(const TransformerOptions& options) {
  std::shared_ptr<const SequenceModel> model = make_model(options, /*seed=*/3);
  for (const NamedTensor& named : model->parameters()) {
    named.tensor.detach().mul_(3.0);
    if (named.name.ends_with("halting.linear.bias")) named.tensor.detach().fill_(-1.0);
  }
  return model;
}

float weight(const DenseAttention& map, std::int64_t head, std::int64_t row, std::int64_t column) {
  return map.weights[static_cast<std::size_t>((head * map.rows + row) * map.columns + column)];
}

/// The weights of a row that has any.
std::vector<float> edges_of_row(const DenseAttention& map, std::int64_t head, std::int64_t row) {
  std::vector<float> weights;
  for (std::int64_t column = 0; column < map.columns; ++column) {
    if (!std::isnan(weight(map, head, row, column))) weights.push_back(weight(map, head, row, column));
  }
  return weights;
}

float sum_of(const std::vector<float>& weights) {
  float sum = 0;
  for (const float w : weights) sum += w;
  return sum;
}

TEST(ModelAttention, OfTheFirstLayerIsTheWeightsOfWhatItReads) {
  const TransformerOptions options = small_options(TransformerPreset::kTutorial);
  Transformer model(options, /*seed=*/3);
  const Batch batch = batch_of(kPair);
  Pass pass = Pass::inference();
  const EncoderLayer& layer = model.encoder().layers.front();
  const Projections made = layer.before_attention(model.embed_input(batch.input_tokens, batch.input_positions, pass));
  const at::Tensor expected =
      layer.self_attention.weights(batch.graph.relation(kEncoderEncoder), made.query, made.key).detach();

  const DenseAttention found = attention_of(*make_model(options, /*seed=*/3), batch).encoder.front();

  for (std::int64_t head = 0; head < options.heads; ++head) {
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t column = 0; column < 5; ++column) {
        EXPECT_FLOAT_EQ(weight(found, head, row, column), expected[row * 5 + column][head].item<float>());
      }
    }
  }
}

TEST(ModelAttention, OfTheDecoderToTheInputIsWhatAScorerShows) {
  for (const TransformerPreset preset : all_of<TransformerPreset>()) {
    const TransformerOptions options = small_options(preset);
    const auto model = lively_model(options);
    const ModelAttention found = attention_of(*model, batch_of(kPair));
    ASSERT_EQ(std::ssize(found.cross), options.decoder_layers);
    for (std::int64_t layer = 0; layer < options.decoder_layers; ++layer) {
      for (std::int64_t head = 0; head < options.heads; ++head) {
        const auto scorer = model->scorer({.layer = layer, .head = head});
        const std::int64_t place = 0;
        scorer->read(std::span(&place, 1), std::span(&kPair.input, 1));
        std::vector<NewNode> nodes;
        for (std::size_t i = 0; i + 1 < kPair.output.size(); ++i) {
          nodes.push_back({0, static_cast<NodeIndex>(i) - 1, kPair.output[i]});
        }
        StepResult result;
        scorer->step({.nodes = nodes, .num_candidates = 1, .attention = true}, result);
        ASSERT_EQ(result.attention.size(), 20U);
        for (std::size_t i = 0; i < 20; ++i) {
          EXPECT_NEAR(found.cross[layer].weights[static_cast<std::size_t>(head) * 20 + i], result.attention[i], 1e-5);
        }
      }
    }
  }
}

TEST(ModelAttention, HasRowsThatSumToOneOverTheEdgesThatThereAre) {
  const ModelAttention found =
      attention_of(*lively_model(small_options(TransformerPreset::kTutorial)), batch_of(kPair));
  for (const DenseAttention& map : found.encoder) {
    for (std::int64_t row = 0; row < 5; ++row) EXPECT_EQ(edges_of_row(map, 1, row).size(), 5U);
  }
  for (const DenseAttention& map : found.decoder) {
    for (std::int64_t row = 0; row < 4; ++row) {
      EXPECT_EQ(edges_of_row(map, 0, row).size(), static_cast<std::size_t>(row + 1));
      EXPECT_NEAR(sum_of(edges_of_row(map, 0, row)), 1, 1e-5);
    }
  }
}

TEST(ModelAttention, OfAUniversalTransformerHasARowForEachStepThatANodeThinks) {
  const Batch batch = batch_of(kPair);
  for (const HaltedKeys halted_keys : all_of<HaltedKeys>()) {
    SCOPED_TRACE(enum_name(halted_keys));
    TransformerOptions options = universal_options();
    options.universal.halted_keys = halted_keys;
    const auto model = lively_model(options);
    const NodeSteps steps = model->steps(batch);
    const ModelAttention found = attention_of(*model, batch);

    ASSERT_EQ(std::ssize(found.encoder), std::ranges::max(steps.encoder));
    ASSERT_EQ(std::ssize(found.cross), std::ranges::max(steps.decoder));
    EXPECT_NE(std::ranges::min(steps.encoder), std::ranges::max(steps.encoder));  // or this shows nothing
    for (std::size_t step = 0; step < found.encoder.size(); ++step) {
      std::size_t thinking = 0;
      for (const std::int64_t count : steps.encoder) thinking += count > static_cast<std::int64_t>(step) ? 1 : 0;
      for (std::int64_t row = 0; row < 5; ++row) {
        const bool thinks = steps.encoder[static_cast<std::size_t>(row)] > static_cast<std::int64_t>(step);
        const std::vector<float> edges = edges_of_row(found.encoder[step], 0, row);
        EXPECT_EQ(edges.size(), !thinks ? 0 : halted_keys == HaltedKeys::kDropped ? thinking : 5U);
        if (thinks) {
          EXPECT_NEAR(sum_of(edges), 1, 1e-5);
        }
      }
    }
    for (std::size_t step = 0; step < found.cross.size(); ++step) {
      for (std::int64_t row = 0; row < 4; ++row) {
        const bool thinks = steps.decoder[static_cast<std::size_t>(row)] > static_cast<std::int64_t>(step);
        EXPECT_EQ(edges_of_row(found.cross[step], 1, row).size(), thinks ? 5U : 0U);
      }
    }
  }
}

}  // namespace
}  // namespace edgewise
