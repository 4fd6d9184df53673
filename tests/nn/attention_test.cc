// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/nn/message_attention.h"
#include "edgewise/ops/edge_softmax.h"
#include "tests/nn/attention_heads.h"
#include "tests/nn/tensors.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

// Counts the edges from each source to each destination: [D, S].
at::Tensor count_edges(const Relation& relation) {
  const at::Tensor counts = at::zeros({relation.num_destinations(), relation.num_sources()}, at::kDouble);
  const EdgeList edges = relation.edges();
  for (std::size_t e = 0; e < edges.sources.size(); ++e) counts[edges.destinations[e]][edges.sources[e]] += 1.0;
  return counts;
}

// Computes the softmax over the sources of each row, zeros for a row without edges. A duplicate edge counts twice.
at::Tensor masked_softmax(const at::Tensor& score_DS, const at::Tensor& counts_DS) {
  const at::Tensor exponent = (score_DS - score_DS.amax(-1, /*keepdim=*/true)).exp() * counts_DS;
  return exponent / exponent.sum(-1, /*keepdim=*/true).clamp_min(std::numeric_limits<double>::min());
}

// Computes multi-head attention by dense matrices, head by head.
at::Tensor dense_attention(const MultiHeadAttention& layer, const Relation& relation, const at::Tensor& destination,
                           const at::Tensor& source) {
  const at::Tensor query = layer.query(destination);
  const at::Tensor key = layer.key(source);
  const at::Tensor value = layer.value(source);
  const std::int64_t K = layer.options.head_size;
  const std::int64_t V = layer.options.value_size;

  std::vector<at::Tensor> heads;
  for (std::int64_t h = 0; h < layer.options.heads; ++h) {
    const at::Tensor query_DK = query.narrow(1, h * K, K);
    const at::Tensor key_SK = key.narrow(1, h * K, K);
    at::Tensor score = query_DK.matmul(key_SK.t()) / std::sqrt(static_cast<double>(K));
    if (layer.options.score == ScoreKind::kAdditive) {
      score = (layer.score_vector[h] * (query_DK.unsqueeze(1) + key_SK.unsqueeze(0)).tanh()).sum(-1);
    }
    if (layer.options.clamp) score = score.clamp(-*layer.options.clamp, *layer.options.clamp);
    heads.push_back(masked_softmax(score, count_edges(relation)).matmul(value.narrow(1, h * V, V)));
  }
  return layer.output(at::cat(heads, 1));
}

MultiHeadAttention uneven_attention(ScoreKind score, std::optional<double> clamp = std::nullopt) {
  RandomStream random(1);
  MultiHeadAttentionOptions options;
  options.input_size = 5;
  options.heads = 3;
  options.head_size = 2;
  options.value_size = 4;
  options.output_size = 7;
  options.score = score;
  options.clamp = clamp;
  return randomised(MultiHeadAttention(options, random));
}

TEST(MultiHeadAttention, IsDenseAttentionMaskedByItsRelation) {
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    for (const std::optional<double> clamp : {std::optional<double>(), std::optional<double>(0.7)}) {
      const MultiHeadAttention layer = uneven_attention(score, clamp);
      for (const NamedRelation& named : relation_zoo()) {
        if (named.relation.num_sources() == 0) continue;  // amax needs at least one source
        SCOPED_TRACE(named.name);
        const at::Tensor destination = random_tensor({named.relation.num_destinations(), 5}, 2);
        const at::Tensor source = random_tensor({named.relation.num_sources(), 5}, 3);
        Pass pass = Pass::inference();

        const at::Tensor result = layer(named.relation, destination, source, pass);

        expect_close(result, dense_attention(layer, named.relation, destination, source), 1e-12);
      }
    }
  }
}

TEST(MultiHeadAttention, GivesANodeWithoutEdgesTheBiasOfTheOutputProjection) {
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    const MultiHeadAttention layer = uneven_attention(score);
    const Relation relation = Relation::from_csr(2, {0, 0, 1}, {1});
    Pass pass = Pass::inference();

    const at::Tensor result = layer(relation, random_tensor({2, 5}, 2), random_tensor({2, 5}, 3), pass);

    expect_close(result[0], layer.output.bias, 0.0);
  }
}

TEST(MultiHeadAttention, ProjectsOnlyTheSelectedFields) {
  const MultiHeadAttention layer = uneven_attention(ScoreKind::kDot);
  const at::Tensor x = random_tensor({6, 5}, 2);

  const Projections all = layer.get(x);
  const Projections some = layer.get(x, AttentionFields::kQuery | AttentionFields::kValue);

  expect_close(all.query, layer.query(x).view({6, 3, 2}), 0.0);
  expect_close(all.key, layer.key(x).view({6, 3, 2}), 0.0);
  expect_close(all.value, layer.value(x).view({6, 3, 4}), 0.0);
  EXPECT_TRUE(at::equal(some.query, all.query));
  EXPECT_TRUE(at::equal(some.value, all.value));
  EXPECT_FALSE(some.key.defined());
  EXPECT_EQ(all.columns().size(), 3u);
  EXPECT_EQ(layer.get(x, AttentionFields::kKeyValue).columns().count("q"), 0u);
}

TEST(MultiHeadAttention, EqualsTheSequenceOfItsParts) {
  const MultiHeadAttention layer = uneven_attention(ScoreKind::kDot);
  const at::Tensor x = random_tensor({6, 5}, 2);
  Pass pass = Pass::inference();

  const Projections projections = layer.get(x);
  const at::Tensor average = layer.average(causal(6), projections.query, projections.key, projections.value, pass);

  expect_close(layer.get_o(average), layer(causal(6), x, x, pass), 0.0);
}

TEST(MultiHeadAttention, AveragesByTheWeightsThatItReturns) {
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    const MultiHeadAttention layer = uneven_attention(score);
    const Relation relation = random_relation(8, 6, 3, /*seed=*/4);
    const at::Tensor query = random_tensor({6, 3, 2}, 1);
    const at::Tensor key = random_tensor({8, 3, 2}, 2);
    const at::Tensor value = random_tensor({8, 3, 4}, 3);
    Pass pass = Pass::inference();

    const at::Tensor weight_EH = layer.weights(relation, query, key);

    expect_close(aggregate(relation, weight_EH, value), layer.average(relation, query, key, value, pass), 1e-13);
    expect_close(aggregate(relation, weight_EH, at::ones({8, 3, 1}, at::kDouble)), at::ones({6, 3, 1}, at::kDouble),
                 1e-13);
  }
}

TEST(MultiHeadAttention, DropsWeightsOnlyWhileTraining) {
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    MultiHeadAttention layer = uneven_attention(score);
    layer.options.dropout = 0.5;
    const at::Tensor x = random_tensor({6, 5}, 2);
    const auto run = [&](Pass pass) { return layer(complete(6), x, x, pass); };

    EXPECT_TRUE(at::equal(run(Pass::training(1)), run(Pass::training(1))));
    EXPECT_FALSE(at::equal(run(Pass::training(1)), run(Pass::training(2))));
    expect_close(run(Pass::inference()), dense_attention(layer, complete(6), x, x), 1e-12);
  }
}

TEST(MultiHeadAttention, RefusesANumberOfHeadsThatDoesNotDivideTheSize) {
  EXPECT_EQ(error_of([] { MultiHeadAttentionOptions::even(128, 3); }),
            "MultiHeadAttention: heads is 3, needs a divisor of size 128");
  EXPECT_EQ(error_of([] { MultiHeadAttentionOptions::even(128, 0); }),
            "MultiHeadAttention: heads is 0, needs a divisor of size 128");
}

TEST(AttentionHeads, EqualTheFusedLayerWithTheirWeights) {
  RandomStream random(1);
  const AttentionHeads heads =
      randomised(AttentionHeads({.heads = 3, .size = 5, .key_size = 2, .value_size = 4}, random));
  const MultiHeadAttention fused = heads.fuse();
  const at::Tensor destination = random_tensor({6, 5}, 2);
  const at::Tensor source = random_tensor({8, 5}, 3);
  const Relation relation = random_relation(8, 6, 3, /*seed=*/4);
  Pass pass = Pass::inference();

  expect_close(fused(relation, destination, source, pass), heads(relation, destination, source), 1e-13);
}

TEST(SelfAttention, IsTheSoftmaxOfPlainDotProducts) {
  const at::Tensor x = random_tensor({6, 4}, 2);

  expect_close(self_attention(complete(6), x), at::softmax(x.matmul(x.t()), -1).matmul(x), 1e-13);
}

// A graph whose nodes have random queries, keys and values as node columns.
struct MessageProblem {
  explicit MessageProblem(const Relation& relation)
      : graph(Graph(relation)), num_nodes(relation.num_destinations()), value(random_tensor({num_nodes, 2, 4}, 3)) {
    graph.ndata().set("q", random_tensor({num_nodes, 2, 3}, 1));
    graph.ndata().set("k", random_tensor({num_nodes, 2, 3}, 2));
    graph.ndata().set("v", value);
  }

  at::Tensor averages() {
    graph.apply_nodes([](const NodeBatch& nodes) { return Columns{{"average", compute_averages(nodes)}}; });
    return graph.ndata().get("average");
  }

  MessageGraph graph;
  std::int64_t num_nodes;
  at::Tensor value;
};

MultiHeadAttention two_heads(ScoreKind score, std::optional<double> clamp) {
  RandomStream random(1);
  MultiHeadAttentionOptions options;
  options.input_size = options.output_size = 5;
  options.heads = 2;
  options.head_size = 3;
  options.value_size = 4;
  options.score = score;
  options.clamp = clamp;
  return randomised(MultiHeadAttention(options, random));
}

TEST(PropagateAttention, LeavesTheAveragesOfFusedAttention) {
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    for (const std::optional<double> clamp : {std::optional<double>(), std::optional<double>(0.7)}) {
      const MultiHeadAttention layer = two_heads(score, clamp);
      for (const NamedRelation& named : relation_zoo()) {
        if (named.relation.num_sources() != named.relation.num_destinations()) continue;
        SCOPED_TRACE(named.name);
        MessageProblem problem(named.relation);
        const Frame& nodes = problem.graph.ndata();
        Pass pass = Pass::inference();

        propagate_attention(problem.graph, problem.graph.edges("edges"), layer, pass);

        expect_close(problem.averages(),
                     layer.average(named.relation, nodes.get("q"), nodes.get("k"), nodes.get("v"), pass), 1e-12);
      }
    }
  }
}

TEST(PropagateAttention, UsesOnlyTheGivenEdges) {
  const MultiHeadAttention layer = two_heads(ScoreKind::kDot, std::nullopt);
  const std::vector<EdgeIndex> some = {1, 7, 8, 20, 24};
  MessageProblem problem(complete(5));
  const Frame& nodes = problem.graph.ndata();
  Pass pass = Pass::inference();

  propagate_attention(problem.graph, problem.graph.edges("edges"), layer, pass);
  propagate_attention(problem.graph, at::tensor(at::ArrayRef<EdgeIndex>(some)), layer, pass);

  const Relation kept = keep_edges(complete(5), some);
  expect_close(problem.averages(), layer.average(kept, nodes.get("q"), nodes.get("k"), nodes.get("v"), pass), 1e-12);
  EXPECT_EQ(problem.averages()[2].abs().max().item<double>(), 0.0);  // reached by the first call, not by the second
}

TEST(PropagateAttention, DoesNotOverflowForLargeScores) {
  MessageProblem problem(causal(5));
  problem.graph.ndata().set("q", 1e4 * problem.graph.ndata().get("q"));
  const Frame& nodes = problem.graph.ndata();
  const MultiHeadAttention layer = two_heads(ScoreKind::kDot, std::nullopt);
  Pass pass = Pass::inference();

  propagate_attention(problem.graph, problem.graph.edges("edges"), layer, pass);

  expect_close(problem.averages(), layer.average(causal(5), nodes.get("q"), nodes.get("k"), nodes.get("v"), pass),
               1e-12);
}

TEST(PropagateAttention, DropsSomeWeightsAndScalesTheOthers) {
  MultiHeadAttention layer = two_heads(ScoreKind::kDot, std::nullopt);
  MessageProblem problem(complete(20));
  // The values are unit vectors, so that the average of a node is the list of its weights.
  problem.graph.ndata().set("v", at::eye(20, at::kDouble).unsqueeze(1).expand({20, 2, 20}).contiguous());
  const auto weights = [&](Pass pass) {
    propagate_attention(problem.graph, problem.graph.edges("edges"), layer, pass);
    return problem.averages();
  };
  const at::Tensor all = weights(Pass::inference());
  layer.options.dropout = 0.4;

  const at::Tensor some = weights(Pass::training(1));

  const at::Tensor kept = some != 0;
  expect_close(some, at::where(kept, all / 0.6, at::zeros_like(all)), 1e-12);
  EXPECT_NEAR(kept.to(at::kDouble).mean().item<double>(), 0.6, 0.07);  // four standard deviations of 800 draws
  EXPECT_TRUE(at::equal(some, weights(Pass::training(1))));
}

}  // namespace
}  // namespace edgewise
