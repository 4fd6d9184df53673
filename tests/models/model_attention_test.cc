// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/model_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "edgewise/models/transformer.h"
#include "tests/models/model_scorer.h"
#include "tests/models/universal_models.h"

namespace edgewise {
namespace {

const TokenPair kPair = {.input = {4, 5, 6, 7, 8}, .output = {2, 9, 4, 10, 3}};

Batch batch_of(const TokenPair& pair) { return make_batch(std::span(&pair, 1)); }

/// Makes a model with parameters large enough for different attention weights, and whose nodes halt at different steps.
std::shared_ptr<const SequenceModel> varied_model(const TransformerOptions& options) {
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

/// Returns the attention weights of a row.
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

TEST(ModelAttention, HasTheWeightsOfTheFirstLayer) {
  const TransformerOptions options = small_options(TransformerPreset::kTutorial);
  Transformer model(options, /*seed=*/3);
  const Batch batch = batch_of(kPair);
  Pass pass = Pass::inference();
  const EncoderLayer& layer = model.encoder().layers.front();
  const Projections projected = layer.project_qkv(model.embed_input(batch, pass));
  const at::Tensor expected =
      layer.self_attention.weights(batch.graph.relation(kEncoderEncoder), projected.query, projected.key).detach();

  const DenseAttention attention = record_attention(*make_model(options, /*seed=*/3), batch).encoder.front();

  for (std::int64_t head = 0; head < options.heads; ++head) {
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t column = 0; column < 5; ++column) {
        EXPECT_FLOAT_EQ(weight(attention, head, row, column), expected[row * 5 + column][head].item<float>());
      }
    }
  }
}

TEST(ModelAttention, HasTheCrossAttentionThatAScorerRecords) {
  for (const TransformerPreset preset : all_of<TransformerPreset>()) {
    const TransformerOptions options = small_options(preset);
    const auto model = varied_model(options);
    const ModelAttention attention = record_attention(*model, batch_of(kPair));
    ASSERT_EQ(std::ssize(attention.cross), options.decoder_layers);
    for (std::int64_t layer = 0; layer < options.decoder_layers; ++layer) {
      for (std::int64_t head = 0; head < options.heads; ++head) {
        const auto scorer = make_scorer(*model, {.layer = layer, .head = head});
        const std::int64_t slot = 0;
        scorer->encode(std::span(&slot, 1), std::span(&kPair.input, 1));
        std::vector<NewNode> nodes;
        for (std::size_t i = 0; i + 1 < kPair.output.size(); ++i) {
          nodes.push_back({0, static_cast<NodeIndex>(i) - 1, kPair.output[i]});
        }
        StepResult result;
        scorer->step({.nodes = nodes, .num_candidates = 1, .attention = true}, result);
        ASSERT_EQ(result.attention.size(), 20U);
        for (std::size_t i = 0; i < 20; ++i) {
          EXPECT_NEAR(attention.cross[layer].weights[static_cast<std::size_t>(head) * 20 + i], result.attention[i],
                      1e-5);
        }
      }
    }
  }
}

TEST(ModelAttention, HasRowsThatSumToOneOverTheirEdges) {
  const ModelAttention attention =
      record_attention(*varied_model(small_options(TransformerPreset::kTutorial)), batch_of(kPair));
  for (const DenseAttention& map : attention.encoder) {
    for (std::int64_t row = 0; row < 5; ++row) EXPECT_EQ(edges_of_row(map, 1, row).size(), 5U);
  }
  for (const DenseAttention& map : attention.decoder) {
    for (std::int64_t row = 0; row < 4; ++row) {
      EXPECT_EQ(edges_of_row(map, 0, row).size(), static_cast<std::size_t>(row + 1));
      EXPECT_NEAR(sum_of(edges_of_row(map, 0, row)), 1, 1e-5);
    }
  }
}

TEST(ModelAttention, HasARowForEachPonderStepOfANode) {
  const Batch batch = batch_of(kPair);
  for (const HaltedKeys halted_keys : all_of<HaltedKeys>()) {
    SCOPED_TRACE(enum_name(halted_keys));
    TransformerOptions options = universal_options();
    options.universal.halted_keys = halted_keys;
    const auto model = varied_model(options);
    const NodePonderSteps steps = model->ponder_steps(batch);
    const ModelAttention attention = record_attention(*model, batch);

    ASSERT_EQ(std::ssize(attention.encoder), std::ranges::max(steps.encoder));
    ASSERT_EQ(std::ssize(attention.cross), std::ranges::max(steps.decoder));
    EXPECT_NE(std::ranges::min(steps.encoder), std::ranges::max(steps.encoder));  // otherwise this test checks nothing
    for (std::size_t step = 0; step < attention.encoder.size(); ++step) {
      std::size_t num_active = 0;
      for (const std::int64_t count : steps.encoder) num_active += count > static_cast<std::int64_t>(step) ? 1 : 0;
      for (std::int64_t row = 0; row < 5; ++row) {
        const bool is_active = steps.encoder[static_cast<std::size_t>(row)] > static_cast<std::int64_t>(step);
        const std::vector<float> edges = edges_of_row(attention.encoder[step], 0, row);
        EXPECT_EQ(edges.size(), !is_active ? 0 : halted_keys == HaltedKeys::kDropped ? num_active : 5U);
        if (is_active) {
          EXPECT_NEAR(sum_of(edges), 1, 1e-5);
        }
      }
    }
    for (std::size_t step = 0; step < attention.cross.size(); ++step) {
      for (std::int64_t row = 0; row < 4; ++row) {
        const bool is_active = steps.decoder[static_cast<std::size_t>(row)] > static_cast<std::int64_t>(step);
        EXPECT_EQ(edges_of_row(attention.cross[step], 1, row).size(), is_active ? 5U : 0U);
      }
    }
  }
}

}  // namespace
}  // namespace edgewise
