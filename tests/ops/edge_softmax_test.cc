// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_softmax.h"

#include "edgewise/ops/attend.h"
#include "edgewise/ops/dropout.h"
#include "edgewise/ops/edge_index.h"
#include "tests/ops/tensors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

at::Tensor softmax_row_by_row(const Relation& relation, const at::Tensor& score_EH) {
  Tensors rows = {score_EH.slice(0, 0, 0)};
  for (std::int64_t row = 0; row < relation.num_destinations(); ++row) {
    rows.push_back(score_EH.narrow(0, relation.row_begin()[row], relation.row_size(row)).softmax(0));
  }
  return at::cat(rows);
}

at::Tensor sum_of_messages(const Relation& relation, const at::Tensor& weight_EH, const at::Tensor& value_SHV) {
  const EdgeIndexTensors edges = edge_index_tensors(relation, at::kCPU);
  const at::Tensor message_EHV = weight_EH.unsqueeze(2) * value_SHV.index_select(0, edges.source_E);
  return at::zeros({relation.num_destinations(), value_SHV.size(1), value_SHV.size(2)}, value_SHV.options())
      .index_add(0, edges.destination_E, message_EHV);
}

TEST(EdgeSoftmax, MatchesTheSoftmaxOfEachRow) {
  for (const auto& [name, relation] : relation_zoo()) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      SCOPED_TRACE(name);
      expect_same_function([&r = relation](const Tensors& x) { return edge_softmax(r, x[0]); },
                           [&r = relation](const Tensors& x) { return softmax_row_by_row(r, x[0]); },
                           {normal({relation.num_edges(), 3}, 1, type)});
    }
  }
}

TEST(EdgeSoftmax, TakesScoresOfAnyShapeAfterTheEdges) {
  const Relation relation = causal(5);
  const at::Tensor score = normal({15, 2, 3}, 1);

  EXPECT_TRUE(
      at::equal(edge_softmax(relation, score), edge_softmax(relation, score.reshape({15, 6})).reshape({15, 2, 3})));
  EXPECT_TRUE(at::equal(edge_softmax(relation, score.select(1, 0).select(1, 1)),
                        edge_softmax(relation, score).select(1, 0).select(1, 1)));
  EXPECT_EQ(edge_softmax(relation, at::zeros({15, 0}).to(test_device())).sizes(), (at::IntArrayRef{15, 0}));
}

TEST(EdgeSoftmax, DoesNotOverflowOnLargeScores) {
  const at::Tensor score = normal({16, 2}, 1, at::kFloat) * 1e4;

  expect_close(edge_softmax(complete(4), score), softmax_row_by_row(complete(4), score), "weights");
}

TEST(EdgeSoftmax, HasGradientsThatMatchFiniteDifferences) {
  for (const auto& [name, relation] : relation_zoo()) {
    if (relation.num_edges() > 60) continue;
    SCOPED_TRACE(name);
    expect_gradients_match([&r = relation](const Tensors& x) { return edge_softmax(r, x[0]); },
                           {normal({2, relation.num_edges()}, 1).t()});
  }
}

TEST(Aggregate, SumsWeightedValuesAtDestinations) {
  for (const auto& [name, relation] : relation_zoo()) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      SCOPED_TRACE(name);
      expect_same_function(
          [&r = relation](const Tensors& x) { return aggregate(r, x[0], x[1]); },
          [&r = relation](const Tensors& x) { return sum_of_messages(r, x[0], x[1]); },
          {normal({relation.num_edges(), 2}, 1, type), normal({relation.num_sources(), 2, 5}, 2, type)});
    }
  }
}

TEST(Aggregate, HasGradientsThatMatchFiniteDifferences) {
  const Relation relation = random_relation(6, 5, 3, /*seed=*/1);

  expect_gradients_match([&](const Tensors& x) { return aggregate(relation, x[0], x[1]); },
                         {normal({2, 15}, 1).t(), normal({6, 4, 2}, 2).transpose(1, 2)});
}

TEST(AdditiveScores, AreAWeightedSumOfTanhOnEveryEdge) {
  const Relation relation = Relation::from_csr(4, {0, 2, 2, 5}, {3, 0, 1, 1, 2});
  const at::Tensor query = normal({3, 2, 4}, 1);
  const at::Tensor key = normal({4, 2, 4}, 2);
  const at::Tensor vector = normal({2, 4}, 3);

  const at::Tensor score = additive_scores(relation, query, key, vector);

  const EdgeList edges = relation.edges();
  for (std::int64_t e = 0; e < 5; ++e) {
    for (std::int64_t h = 0; h < 2; ++h) {
      const at::Tensor sum = query[edges.destinations[e]][h] + key[edges.sources[e]][h];
      EXPECT_NEAR(score[e][h].item<double>(), vector[h].dot(sum.tanh()).item<double>(), 1e-12);
    }
  }
}

TEST(AdditiveScores, HaveGradientsThatMatchFiniteDifferences) {
  for (const Relation& relation : {causal(4), random_relation(5, 4, 2, /*seed=*/1), Relation(), bipartite(4, 0)}) {
    expect_gradients_match(
        [&](const Tensors& x) { return additive_scores(relation, x[0], x[1], x[2]); },
        {normal({relation.num_destinations(), 2, 3}, 1), normal({relation.num_sources(), 2, 3}, 2), normal({2, 3}, 3)});
  }
}

TEST(AdditiveScores, ScoresSoftmaxAndSumMakeAttention) {
  const Relation relation = prefix(6, std::vector<std::int64_t>{2, 6, 0});
  const at::Tensor query = normal({3, 1, 4}, 1);
  const at::Tensor key = normal({6, 1, 4}, 2);
  const at::Tensor value = normal({6, 1, 5}, 3);
  const at::Tensor dot = at::stack([&] {
    Tensors scores;
    const EdgeList edges = relation.edges();
    for (std::size_t e = 0; e < edges.sources.size(); ++e) {
      scores.push_back((query[edges.destinations[e]] * key[edges.sources[e]]).sum(-1) / 2);
    }
    return scores;
  }());

  expect_close(aggregate(relation, edge_softmax(relation, dot), value), attend(relation, query, key, value), "output");
}

TEST(DropoutOp, KeepsAndScalesByTheKeyAlone) {
  const at::Tensor x = at::ones({300, 70}, at::kFloat).to(test_device());

  const at::Tensor y = dropout(x, 0.2, {.seed = 3, .stream = 4});

  EXPECT_TRUE(((y == 0) | (y == 1.25)).all().item<bool>());
  EXPECT_NEAR(y.eq(0).to(at::kDouble).mean().item<double>(), 0.2, 0.015);
  EXPECT_TRUE(at::equal(y, dropout(x, 0.2, {.seed = 3, .stream = 4})));
  EXPECT_FALSE(at::equal(y, dropout(x, 0.2, {.seed = 3, .stream = 5})));
  EXPECT_TRUE(at::equal(y, dropout(x.to(at::kDouble), 0.2, {.seed = 3, .stream = 4}).to(at::kFloat)));
}

TEST(DropoutOp, ReturnsItsArgumentForARateOfZero) {
  const at::Tensor x = normal({4}, 1);

  EXPECT_TRUE(dropout(x, 0.0, DropoutKey{}).is_same(x));
}

TEST(DropoutOp, HasGradientsThatMatchFiniteDifferences) {
  expect_gradients_match([](const Tensors& x) { return dropout(x[0], 0.4, {.seed = 1, .stream = 2}) * x[0]; },
                         {normal({5, 7}, 1).t()});
  expect_gradients_match([](const Tensors& x) { return dropout(x[0], 0.4, DropoutKey{}); }, {normal({0, 3}, 1)});
}

TEST(DropoutOp, HasAGradientOfItsGradient) {
  const at::Tensor x = normal({50}, 1).requires_grad_();
  const at::Tensor first = torch::autograd::grad({dropout(x * x, 0.4, {.seed = 1}).sum()}, {x}, {}, /*retain_graph=*/{},
                                                 /*create_graph=*/true)[0];
  const at::Tensor second = torch::autograd::grad({first.sum()}, {x})[0];

  expect_close(second, 2 * dropout(at::ones({50}, at::kDouble).to(test_device()), 0.4, {.seed = 1}),
               "second derivative");
}

TEST(AdditiveScores, AreFp32ForBf16QueriesAndKeys) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    const Tensors inputs = {normal({relation.num_destinations(), 2, 3}, 1, at::kBFloat16),
                            normal({relation.num_sources(), 2, 3}, 2, at::kBFloat16), normal({2, 3}, 3, at::kFloat)};
    EXPECT_EQ(additive_scores(relation, inputs[0], inputs[1], inputs[2]).scalar_type(), at::kFloat);
    expect_same_function(
        [&r = relation](const Tensors& x) { return additive_scores(r, x[0], x[1], x[2]); },
        [&r = relation](const Tensors& x) {
          return additive_scores(r, x[0].to(at::kDouble), x[1].to(at::kDouble), x[2].to(at::kDouble)).to(at::kFloat);
        },
        inputs);
  }
}

TEST(Aggregate, AddsInFp32AndRoundsOnceForBf16Values) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    expect_same_function(
        [&r = relation](const Tensors& x) { return aggregate(r, x[0], x[1]); },
        [&r = relation](const Tensors& x) {
          return sum_of_messages(r, x[0].to(at::kDouble), x[1].to(at::kDouble)).to(at::kBFloat16);
        },
        {normal({relation.num_edges(), 2}, 1, at::kFloat), normal({relation.num_sources(), 2, 3}, 2, at::kBFloat16)});
  }
}

}  // namespace
}  // namespace edgewise
