// SPDX-License-Identifier: Apache-2.0
// Message passing and fused computation agree: equal outputs and gradients of all parameters.
#include "tests/models/agreement.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/nn/message_attention.h"
#include "tests/models/small_models.h"

namespace edgewise {
namespace {

/// Expects equal results of message passing and fused computation on `batch`.
void expect_agreement(const Transformer& model, const Batch& batch, const Pass& pass = Pass::inference()) {
  MessageGraph graph(batch.graph);
  Pass for_messages = pass;
  Pass for_fused = pass;
  expect_same(model, model.forward_by_messages(graph, batch, for_messages), model.forward(batch, for_fused));
}

using PairRelation = std::function<Relation(std::int64_t sources, std::int64_t destinations)>;

/// Returns `batch` with another relation within each sentence.
Batch with_relation(Batch batch, std::string_view name, const PairRelation& make) {
  std::vector<Relation> parts;
  for (std::size_t i = 0; i < batch.input_lengths.size(); ++i) {
    const std::int64_t inputs = batch.input_lengths[i];
    const std::int64_t outputs = batch.output_lengths[i];
    parts.push_back(make(name == kDecoderDecoder ? outputs : inputs, name == kEncoderEncoder ? inputs : outputs));
  }
  batch.graph = batch.graph.with_relation(name, join(parts));
  return batch;
}

/// Returns a relation with edges from even sources; every third row is empty.
Relation with_empty_rows(std::int64_t sources, std::int64_t destinations) {
  std::vector<std::uint8_t> mask;
  for (std::int64_t d = 0; d < destinations; ++d) {
    for (std::int64_t s = 0; s < sources; ++s) mask.push_back(d % 3 != 1 && s % 2 == 0);
  }
  return from_mask(sources, destinations, mask);
}

struct NamedBatch {
  std::string name;
  Batch batch;
};

std::vector<NamedBatch> batches() {
  const Batch plain = small_batch();
  const auto windows = [](const WindowOptions& options) {
    return [options](std::int64_t, std::int64_t nodes) { return window(nodes, options); };
  };
  const auto random = [](std::int64_t sources, std::int64_t destinations) {
    return random_relation(sources, destinations, /*in_degree=*/2, /*seed=*/static_cast<std::uint64_t>(destinations));
  };
  const auto lists = [](std::int64_t, std::int64_t nodes) { return causal(nodes).to_csr(); };
  const Batch sparse = with_relation(
      with_relation(with_relation(plain, kEncoderEncoder, random), kEncoderDecoder, random), kDecoderDecoder, random);
  const Batch gaps = with_relation(
      with_relation(with_relation(plain, kEncoderEncoder, with_empty_rows), kEncoderDecoder, with_empty_rows),
      kDecoderDecoder, with_empty_rows);
  return {{"complete and causal", plain},
          {"lists of edges", with_relation(plain, kDecoderDecoder, lists)},
          {"windows", with_relation(with_relation(plain, kEncoderEncoder, windows({.before = 1, .after = 1})),
                                    kDecoderDecoder, windows({.before = 1}))},
          {"random sparse", sparse},
          {"rows without edges", gaps}};
}

TEST(MessagesAndFused, AgreeForEachPresetOnEachKindOfRelation) {
  for (const TransformerPreset preset : all_presets()) {
    const Transformer model = small_model(small_options(preset));
    for (const auto& [name, batch] : batches()) {
      SCOPED_TRACE(testing::Message() << enum_name(preset) << ", " << name);
      expect_agreement(model, batch);
    }
  }
}

TEST(MessagesAndFused, AgreeForLayersThatNoPresetHas) {
  for (const auto& [layers, options] : options_without_preset()) {
    const Transformer model = small_model(options);
    for (const auto& [name, batch] : batches()) {
      SCOPED_TRACE(testing::Message() << layers << ", " << name);
      expect_agreement(model, batch);
      expect_agreement(model, batch, Pass::training(3));
    }
  }
}

TEST(MessagesAndFused, AgreeOnAnEdgeSubgraph) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  Batch batch = small_batch();
  std::vector<EdgeIndex> kept;
  for (EdgeIndex edge = 0; edge < batch.graph.num_edges(); ++edge) {
    if (edge % 3 != 1) kept.push_back(edge);
  }
  batch.graph = batch.graph.edge_subgraph(kept);

  expect_agreement(model, batch);
}

TEST(MessagesAndFused, AgreeWithAdditiveScores) {
  TransformerOptions options = small_options(TransformerPreset::kChapter);
  options.score = ScoreKind::kAdditive;
  const Transformer model = small_model(options);
  for (const auto& [name, batch] : batches()) {
    SCOPED_TRACE(name);
    expect_agreement(model, batch);
  }
}

TEST(MessagesAndFused, AgreeForEachKindOfPositionsAndActivation) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.max_positions = 6;
  options.dropout = {.embedding = 0.2, .residual = 0.0, .attention = 0.0, .activation = 0.3, .word = 0.2};
  for (const auto& [positions, positions_name] : enum_names(PositionKind{})) {
    for (const auto& [activation, activation_name] : enum_names(Activation{})) {
      SCOPED_TRACE(testing::Message() << positions_name << ", " << activation_name);
      options.positions = positions;
      options.activation = activation;
      const Transformer model = small_model(options);
      expect_agreement(model, small_batch());
      expect_agreement(model, small_batch(), Pass::training(3));
    }
  }
}

TEST(MessagesAndFused, AgreeWithClampedScores) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  for (const double clamp : {0.5, 5.0, 10.0}) {
    options.clamp = clamp;
    expect_agreement(small_model(options), small_batch());
  }
}

TEST(Clamp, ChangesLogitsOnlyWhenScoresReachIt) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  const auto logits_with = [&](std::optional<double> clamp) {
    options.clamp = clamp;
    Pass pass = Pass::inference();
    return small_model(options).forward(small_batch(), pass);
  };

  EXPECT_GT((logits_with(0.5) - logits_with(std::nullopt)).abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(at::equal(logits_with(1000.0), logits_with(std::nullopt)));
}

TEST(MessagesAndFused, DropTheSameValuesInTraining) {
  for (const TransformerPreset preset : all_presets()) {
    TransformerOptions options = small_options(preset);
    options.dropout = {.embedding = 0.2, .residual = 0.3, .attention = 0.0, .activation = 0.4};

    expect_agreement(small_model(options), small_batch(), Pass::training(3));
  }
}

// --- update_graph on parts of a graph, against one fused layer ---

at::Tensor edges_into(MessageGraph& graph, const at::Tensor& nodes, std::string_view relation) {
  graph.ndata().set("is_active", at::zeros({graph.graph().num_nodes()}, at::kBool).index_fill(0, nodes, true));
  return graph.filter_edges([](const EdgeBatch& edges) { return edges.destination("is_active"); },
                            graph.edges(relation));
}

at::Tensor to_numbers(const std::vector<NodeIndex>& rows) {
  return at::tensor(std::vector<std::int64_t>(rows.begin(), rows.end()));
}

/// The encoder nodes of a graph, with random states.
struct EncoderProblem {
  Batch batch = small_batch();
  MessageGraph graph{batch.graph};
  at::Tensor nodes = graph.nodes(kEncoder);
  at::Tensor edges = graph.edges(kEncoderEncoder);
  const Relation& relation = batch.graph.relation(kEncoderEncoder);
  at::Tensor x = random_tensor({relation.num_sources(), 8}, 5);

  EncoderProblem() { graph.ndata().set("x", nodes, x); }
  at::Tensor state() { return graph.ndata().get("x", nodes); }
};

TEST(UpdateGraph, AlongSomeEdgesEqualsALayerOverARelationOfTheseEdges) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  const Encoder& encoder = model.encoder();
  EncoderProblem problem;
  const std::vector<std::int64_t> some = {0, 2, 3, 7, 11, 15, 16, 20};  // edge numbers within the relation
  Pass pass = Pass::inference();

  model.update_graph(problem.graph, problem.edges.index_select(0, at::tensor(some)),
                     {{encoder.pre_func(0), problem.nodes}}, {{encoder.post_func(0, pass), problem.nodes}});

  expect_same(model, problem.state(), encoder.layers[0](keep_edges(problem.relation, some), problem.x, pass));
}

TEST(UpdateGraph, OnSomeNodesEqualsALayerOverTheirRows) {
  for (const TransformerPreset preset : all_presets()) {
    const Transformer model = small_model(small_options(preset));
    const EncoderLayer& layer = model.encoder().layers[0];
    EncoderProblem problem;
    const std::vector<NodeIndex> rows = {1, 2, 4, 7};
    const at::Tensor row_numbers = to_numbers(rows);
    const at::Tensor active = problem.nodes.index_select(0, row_numbers);
    const at::Tensor edges = edges_into(problem.graph, active, kEncoderEncoder);
    Pass pass = Pass::inference();

    model.update_graph(problem.graph, edges,
                       {{model.encoder().pre_func(0, AttentionFields::kQuery), active},
                        {model.encoder().pre_func(0, AttentionFields::kKeyValue), problem.nodes}},
                       {{model.encoder().post_func(0, pass), active}});
    const at::Tensor updated = problem.state().index_select(0, row_numbers);

    expect_same(model, updated, layer(keep_rows(problem.relation, rows), problem.x, pass).index_select(0, row_numbers));
    const Projections projected = layer.project_qkv(problem.x);
    const at::Tensor average =
        layer.self_attention.average(select_rows(problem.relation, rows), projected.query.index_select(0, row_numbers),
                                     projected.key, projected.value, pass);
    expect_same(model, updated, layer.finish_layer(problem.x.index_select(0, row_numbers), average, pass));
  }
}

TEST(UpdateGraph, DoesNotChangeOtherNodes) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  EncoderProblem problem;
  const at::Tensor active = problem.nodes.slice(0, 0, 3);
  Pass pass = Pass::inference();

  model.update_graph(problem.graph, problem.edges, {{model.encoder().pre_func(0), problem.nodes}},
                     {{model.encoder().post_func(0, pass), active}});

  const at::Tensor changed = (problem.state() != problem.x).any(-1);
  EXPECT_TRUE(changed.slice(0, 0, 3).all().item<bool>());
  EXPECT_FALSE(changed.slice(0, 3).any().item<bool>());
}

TEST(UpdateGraph, OnSomeDecoderNodesEqualsADecoderLayerOverTheirRows) {
  const Transformer model = small_model(small_options(TransformerPreset::kFromScratch));
  const Decoder& decoder = model.decoder();
  const Batch batch = small_batch();
  MessageGraph graph(batch.graph);
  const at::Tensor encoder_nodes = graph.nodes(kEncoder);
  const at::Tensor nodes = graph.nodes(kDecoder);
  const at::Tensor encoded = random_tensor({encoder_nodes.size(0), 8}, 5);
  const at::Tensor x = random_tensor({nodes.size(0), 8}, 6);
  graph.ndata().set("x", encoder_nodes, encoded);
  graph.ndata().set("x", nodes, x);

  const std::vector<NodeIndex> rows = {0, 2, 3, 8};
  const at::Tensor row_numbers = to_numbers(rows);
  const at::Tensor active = nodes.index_select(0, row_numbers);
  Pass pass = Pass::inference();

  model.update_graph(graph, edges_into(graph, active, kDecoderDecoder), {{decoder.pre_func(0), nodes}},
                     {{decoder.post_func(0, DecoderAttention::kSelf, pass), active}});
  model.update_graph(graph, edges_into(graph, active, kEncoderDecoder),
                     {{decoder.pre_func(0, AttentionFields::kQuery, DecoderAttention::kCross), active},
                      {decoder.pre_func(0, AttentionFields::kKeyValue, DecoderAttention::kCross), encoder_nodes}},
                     {{decoder.post_func(0, DecoderAttention::kCross, pass), active}});

  const at::Tensor expected =
      decoder.layers[0](keep_rows(batch.graph.relation(kDecoderDecoder), rows),
                        keep_rows(batch.graph.relation(kEncoderDecoder), rows), x, encoded, pass);
  expect_same(model, graph.ndata().get("x", active), expected.index_select(0, row_numbers));
}

TEST(UpdateGraph, UsesAnAttentionResultOfZerosForNodesWithoutMessages) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  const EncoderLayer& layer = model.encoder().layers[0];
  EncoderProblem problem;
  const at::Tensor no_edges = at::empty({0}, at::kLong);
  Pass pass = Pass::inference();

  model.update_graph(problem.graph, no_edges, {{model.encoder().pre_func(0), problem.nodes}},
                     {{model.encoder().post_func(0, pass), problem.nodes}});

  const at::Tensor zeros = at::zeros({problem.x.size(0), 2, 4}, at::kDouble);
  expect_close(problem.state(), layer.finish_layer(problem.x, zeros, pass), 1e-13);
}

TEST(UpdateGraph, WithoutAnAttentionFunctionNeedsDotProductScores) {
  TransformerOptions options = small_options(TransformerPreset::kChapter);
  options.score = ScoreKind::kAdditive;
  const Transformer model = small_model(options);
  EncoderProblem problem;

  EXPECT_EQ(error_of([&] { model.update_graph(problem.graph, problem.edges, {}, {}); }),
            "update_graph: score is additive, needs dot; pass the layer's attention_func as the last argument");
  options = small_options(TransformerPreset::kTutorial);
  options.positions = PositionKind::kAlibi;
  const Transformer with_bias = small_model(options);
  EXPECT_EQ(error_of([&] { with_bias.update_graph(problem.graph, problem.edges, {}, {}); }),
            "update_graph: positions is alibi, whose numbers are added to scores, needs another kind; pass the layer's "
            "attention_func as the last argument");
  options = small_options(TransformerPreset::kTutorial);
  options.log_scale = true;
  const Transformer with_scale = small_model(options);
  EXPECT_EQ(error_of([&] { with_scale.update_graph(problem.graph, problem.edges, {}, {}); }),
            "update_graph: log_scale is true, needs false; pass the layer's attention_func as the last argument");
}

TEST(PreFunc, NamesTheLayersThatExist) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));

  EXPECT_EQ(error_of([&] { model.encoder().pre_func(2); }), "Encoder: layer is 2, needs a number from 0 to 1");
  EXPECT_EQ(error_of([&] { model.decoder().pre_func(-1); }), "Decoder: layer is -1, needs a number from 0 to 1");
}

}  // namespace
}  // namespace edgewise
