// SPDX-License-Identifier: Apache-2.0
// Compares the gradients of every layer, in inputs and parameters, with finite differences.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/nn/attention.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/relative_positions.h"
#include "edgewise/nn/sublayer.h"
#include "edgewise/nn/transformer_layers.h"
#include "tests/nn/attention_heads.h"
#include "tests/nn/tensors.h"
#include "tests/support/all_of.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

using Tensors = std::vector<at::Tensor>;

/// Checks the gradients of `run(layer, states, pass)` in all states and parameters; each run uses the same dropout.
template <typename Layer, typename Run>
void expect_layer_gradients_match(Layer layer, const Tensors& states, const Run& run) {
  layer = randomised(layer);
  Tensors inputs = states;
  for (const NamedTensor& named : parameters(layer)) inputs.push_back(named.tensor.detach());

  const auto with_parameters = [&](const Tensors& given) {
    auto next = given.begin() + static_cast<std::ptrdiff_t>(states.size());
    visit_parameters(layer, "", [&](const std::string&, at::Tensor& tensor) { tensor = *next++; });
    Pass pass = Pass::training(5);
    return run(layer, given, pass);
  };
  expect_gradients_match(with_parameters, inputs);
}

// Returns a relation of four sources and five destinations, one without edges, with one duplicate edge.
Relation sparse() { return Relation::from_csr(4, {0, 2, 2, 5, 6, 9}, {0, 3, 1, 1, 2, 0, 3, 2, 1}); }

LayerOptions small_layer(NormPlacement placement, double dropout) {
  LayerOptions options;
  options.size = 6;
  options.heads = 2;
  options.feed_forward = 5;
  options.norm_placement = placement;
  options.activation = Activation::kGelu;
  options.dropout = {.embedding = dropout, .residual = dropout, .attention = dropout, .activation = dropout};
  return options;
}

TEST(LinearGradients, MatchFiniteDifferences) {
  RandomStream random(1);
  for (const Bias bias : {Bias::kNone, Bias::kZero}) {
    expect_layer_gradients_match(Linear(3, 4, bias, random), {random_tensor({5, 3}, 2)},
                                 [](const Linear& layer, const Tensors& x, Pass&) { return layer(x[0]); });
  }
}

TEST(NormGradients, MatchFiniteDifferences) {
  for (const NormKind kind : all_of<NormKind>()) {
    for (const bool has_bias : {true, false}) {
      expect_layer_gradients_match(Norm(5, kind, 1e-5, has_bias), {random_tensor({3, 5}, 2)},
                                   [](const Norm& layer, const Tensors& x, Pass&) { return layer(x[0]); });
    }
  }
}

TEST(FeedForwardGradients, MatchFiniteDifferences) {
  RandomStream random(1);
  LayerOptions options;
  options.size = 3;
  options.feed_forward = 6;
  for (const auto& activation : enum_names(Activation{})) {
    options.activation = activation.value;
    for (const double dropout : {0.0, 0.3}) {
      options.dropout.activation = dropout;
      options.feed_forward_gate = options.feed_forward_bias = !options.feed_forward_gate;
      expect_layer_gradients_match(
          FeedForward(options, random), {random_tensor({4, 3}, 2)},
          [](const FeedForward& layer, const Tensors& x, Pass& pass) { return layer(x[0], pass); });
    }
  }
}

TEST(DepthwiseConvolutionGradients, MatchFiniteDifferences) {
  const std::vector<NodeIndex> neighbours = {kNoNode, 0, 2, /**/ 0, 2, kNoNode};
  expect_layer_gradients_match(
      DepthwiseConvolution(3, NeighbourWindow::centred(3)), {random_tensor({3, 3}, 1)},
      [&](const DepthwiseConvolution& layer, const Tensors& x, Pass&) { return layer(x[0], neighbours); });
}

TEST(EmbeddingGradients, MatchFiniteDifferencesForRepeatedTokens) {
  RandomStream random(1);
  Embedding embedding(4, 3, EmbeddingInit::kXavier, random);
  embedding.scale = 1.5;
  const std::vector<std::int64_t> tokens = {2, 0, 2, 2};
  expect_layer_gradients_match(embedding, {},
                               [&](const Embedding& layer, const Tensors&, Pass&) { return layer(tokens); });
}

struct EmbeddingWithPositions {
  Embedding embedding;
  SidePositions positions;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("embedding", self.embedding);
    part("positions", self.positions);
  }
};

TEST(EmbeddingGradients, MatchFiniteDifferencesForLearnedPositions) {
  RandomStream random(1);
  EmbeddingWithPositions both = {{4, 3, EmbeddingInit::kXavier, random}, {5, 3, EmbeddingInit::kXavier, random}};
  both.embedding.scale = 1.5;
  const std::vector<std::int64_t> tokens = {2, 0, 2, 2};
  const std::vector<std::int64_t> positions = {0, 1, 4, 0};
  for (const double dropout : {0.0, 0.3}) {
    expect_layer_gradients_match(both, {}, [&](const EmbeddingWithPositions& layer, const Tensors&, Pass& pass) {
      return layer.embedding(tokens, layer.positions, positions, {.embedding = dropout, .word = dropout}, pass);
    });
  }
}

TEST(MultiHeadAttentionGradients, MatchFiniteDifferences) {
  RandomStream random(1);
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    for (const Bias bias : {Bias::kNone, Bias::kZero}) {
      for (const double dropout : {0.0, 0.3}) {
        SCOPED_TRACE(testing::Message() << enum_name(score) << ", bias " << (bias == Bias::kZero) << ", dropout "
                                        << dropout);
        MultiHeadAttentionOptions options;
        options.input_size = 3;
        options.heads = 2;
        options.head_size = 2;
        options.value_size = 3;
        options.output_size = 4;
        options.bias = bias;
        options.score = score;
        options.dropout = dropout;
        expect_layer_gradients_match(MultiHeadAttention(options, random),
                                     {random_tensor({5, 3}, 2), random_tensor({4, 3}, 3)},
                                     [](const MultiHeadAttention& layer, const Tensors& x, Pass& pass) {
                                       return layer(sparse(), x[0], x[1], pass);
                                     });
      }
    }
  }
}

struct AttentionWithPositions {
  MultiHeadAttention attention;
  RelativePositions positions;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("attention", self.attention);
    part("bias", self.positions.bias_BH);
  }
};

TEST(MultiHeadAttentionGradients, MatchFiniteDifferencesWithRelativePositions) {
  TransformerOptions options;
  options.size = 8;
  options.heads = 2;
  options.t5_buckets = 4;
  options.t5_distance = 5;
  options.dropout.attention = 0.3;
  const std::vector<std::int64_t> node_positions = {0, 1, 2, 3, 0, 1};
  for (const PositionKind kind : {PositionKind::kRotary, PositionKind::kAlibi, PositionKind::kT5}) {
    for (const bool is_causal : {false, true}) {
      for (const auto clamp : {std::optional<double>(), std::optional<double>(0.8)}) {
        RandomStream random(1);
        options.positions = kind;
        options.clamp = clamp;
        options.key_value_heads = is_causal ? 1 : 0;
        const AttentionWithPositions layer = {{MultiHeadAttentionOptions::from_layer(options), random},
                                              {options, is_causal, random}};
        const Relation relation = join(std::vector<Relation>{is_causal ? causal(4) : complete(4), causal(2)});
        expect_layer_gradients_match(
            layer, {random_tensor({6, 8}, 2)}, [&](const AttentionWithPositions& l, const Tensors& x, Pass& pass) {
              const SelfPositions positions = l.positions.of_nodes(node_positions, x[0].options());
              return l.attention.average_self({relation, positions}, x[0], pass);
            });
      }
    }
  }
}

TEST(ClampedMultiHeadAttentionGradients, MatchFiniteDifferences) {
  RandomStream random(1);
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    MultiHeadAttentionOptions options = MultiHeadAttentionOptions::even(4, 2);
    options.score = score;
    options.clamp = 0.4;
    expect_layer_gradients_match(MultiHeadAttention(options, random), {random_tensor({6, 4}, 2)},
                                 [](const MultiHeadAttention& layer, const Tensors& x, Pass& pass) {
                                   return layer(causal(6), x[0], x[0], pass);
                                 });
  }
}

TEST(AttentionWeightsGradients, MatchFiniteDifferences) {
  RandomStream random(1);
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    MultiHeadAttentionOptions options = MultiHeadAttentionOptions::even(4, 2);
    options.score = score;
    expect_layer_gradients_match(
        MultiHeadAttention(options, random), {random_tensor({5, 2, 2}, 2), random_tensor({4, 2, 2}, 3)},
        [](const MultiHeadAttention& layer, const Tensors& x, Pass&) { return layer.weights(sparse(), x[0], x[1]); });
  }
}

TEST(AttentionHeadsGradients, MatchFiniteDifferences) {
  RandomStream random(1);
  expect_layer_gradients_match(
      AttentionHeads({.heads = 2, .size = 3, .key_size = 2, .value_size = 3}, random),
      {random_tensor({5, 3}, 2), random_tensor({4, 3}, 3)},
      [](const AttentionHeads& layer, const Tensors& x, Pass&) { return layer(sparse(), x[0], x[1]); });
}

TEST(SelfAttentionGradients, MatchFiniteDifferences) {
  expect_gradients_match([](const Tensors& x) { return self_attention(causal(5), x[0]); }, {random_tensor({5, 3}, 2)});
}

TEST(EncoderLayerGradients, MatchFiniteDifferences) {
  RandomStream random(1);
  for (const NormPlacement placement : {NormPlacement::kPre, NormPlacement::kPost}) {
    for (const double dropout : {0.0, 0.2}) {
      expect_layer_gradients_match(EncoderLayer(small_layer(placement, dropout), random), {random_tensor({5, 6}, 2)},
                                   [](const EncoderLayer& layer, const Tensors& x, Pass& pass) {
                                     return layer(window(5, {.before = 1, .after = 1}), x[0], pass);
                                   });
    }
  }
}

TEST(DecoderLayerGradients, MatchFiniteDifferences) {
  RandomStream random(1);
  for (const DecoderMixer mixer : all_of<DecoderMixer>()) {
    const Relation self = mixer == DecoderMixer::kAttention ? causal(5) : window(5, {.before = 1, .after = 0});
    for (const NormPlacement placement : {NormPlacement::kPre, NormPlacement::kPost}) {
      for (const double dropout : {0.0, 0.2}) {
        LayerOptions options = small_layer(placement, dropout);
        options.decoder_mixer = mixer;
        expect_layer_gradients_match(DecoderLayer(options, random),
                                     {random_tensor({5, 6}, 2), random_tensor({4, 6}, 3)},
                                     [&](const DecoderLayer& layer, const Tensors& x, Pass& pass) {
                                       return layer(self, sparse(), x[0], x[1], pass);
                                     });
      }
    }
  }
}

}  // namespace
}  // namespace edgewise
