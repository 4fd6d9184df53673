// SPDX-License-Identifier: Apache-2.0
// Attention with score functions: functions of papers equal their published definitions, and every operation, column
// and table has gradients that match finite differences.
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

#include "edgewise/base/threads.h"
#include "edgewise/graph/builders.h"
#include "tests/ops/attend_comparison.h"
#include "tests/support/gradient_check.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

AttentionOptions with_score(const Score& score) { return {.score = score}; }

/// Returns softmax(score) * value in dense tensors, for scores [D, S, H] with -infinity where there is no edge.
at::Tensor attend_densely(const at::Tensor& score_DSH, const at::Tensor& value_SHV) {
  return at::einsum("dsh,shv->dhv", {score_DSH.softmax(1), value_SHV});
}

/// Returns the scaled dot products, [D, S, H].
at::Tensor dense_products(const Tensors& x) {
  return at::einsum("dhk,shk->dsh", {x[0], x[1]}) / std::sqrt(static_cast<double>(x[0].size(2)));
}

at::Tensor forget_future(const at::Tensor& score_DSH) {
  const at::Tensor future_DS = at::ones({score_DSH.size(0), score_DSH.size(1)}, at::kBool).triu(1).unsqueeze(2);
  return score_DSH.masked_fill(future_DS, -std::numeric_limits<double>::infinity());
}

Tensors self_attention_inputs(std::int64_t length, std::int64_t heads) {
  return {normal({length, heads, 4}, 1), normal({length, heads, 4}, 2), normal({length, heads, 3}, 3)};
}

/// Returns the numbers of destinations less those of sources, [D, S, 1].
at::Tensor dense_distances(std::int64_t length) {
  const at::Tensor number = at::arange(length, at::kDouble);
  return (number.unsqueeze(1) - number.unsqueeze(0)).unsqueeze(2);
}

TEST(ScoreFunction, IsTheClampOfTheTutorial) {
  const Tensors inputs = self_attention_inputs(9, 2);
  const Relation relation = complete(9);
  expect_same_function(
      [&](const Tensors& x) {
        return attend(relation, x[0], x[1], x[2], with_score(clamp(Score::product(), -0.3, 0.3)));
      },
      [&](const Tensors& x) { return attend_plain(relation, x[0], x[1], x[2], {.clamp = 0.3}); }, inputs);
}

TEST(ScoreFunction, IsAlibi) {
  Tensors inputs = self_attention_inputs(11, 4);
  inputs.push_back(at::exp2(-2.0 * at::arange(1, 5, at::kDouble)));
  expect_same_function(
      [&](const Tensors& x) {
        return attend(causal(11), x[0], x[1], x[2],
                      with_score(Score::product() - Score::of_heads(x[3]) * Score::distance()));
      },
      [&](const Tensors& x) {
        return attend_densely(forget_future(dense_products(x) - x[3] * dense_distances(11)), x[2]);
      },
      inputs);
}

TEST(ScoreFunction, IsSoftCapping) {
  const Tensors inputs = self_attention_inputs(8, 2);
  expect_same_function(
      [&](const Tensors& x) { return attend(causal(8), x[0], x[1], x[2], with_score(2 * tanh(Score::product() / 2))); },
      [&](const Tensors& x) { return attend_densely(forget_future(2 * (dense_products(x) / 2).tanh()), x[2]); },
      inputs);
}

/// The bucket of a relative position, key - query, as the paper on T5 defines it for encoders: half of the buckets for
/// each direction, of which half are for one distance each and the others for ranges that grow like logarithms.
std::int64_t t5_bucket(std::int64_t position, std::int64_t buckets, std::int64_t max_distance) {
  const std::int64_t per_direction = buckets / 2;
  const std::int64_t exact = per_direction / 2;
  const std::int64_t first = position > 0 ? per_direction : 0;
  const auto distance = static_cast<double>(std::abs(position));
  if (distance < static_cast<double>(exact)) return first + std::abs(position);
  const double share = std::log(distance / static_cast<double>(exact)) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const auto range = exact + static_cast<std::int64_t>(share * static_cast<double>(per_direction - exact));
  return first + std::min(range, per_direction - 1);
}

Score t5_bucket_score(double buckets, double max_distance) {
  const double per_direction = buckets / 2;
  const double exact = per_direction / 2;
  const Score position = -Score::distance();
  const Score distance = abs(position);
  const Score share = log(distance / exact) / std::log(max_distance / exact);
  const Score range = min(exact + floor(share * (per_direction - exact)), per_direction - 1);
  return where(position > 0, per_direction, 0) + where(distance < exact, distance, range);
}

TEST(ScoreFunction, IsTheRelativeBiasOfT5) {
  constexpr std::int64_t kLength = 150;
  Tensors inputs = self_attention_inputs(kLength, 2);
  inputs.push_back(normal({32, 2}, 7));
  at::Tensor bucket = at::empty({kLength, kLength}, at::kLong);
  for (std::int64_t query = 0; query < kLength; ++query) {
    for (std::int64_t key = 0; key < kLength; ++key) bucket[query][key] = t5_bucket(key - query, 32, 128);
  }
  expect_same_function(
      [&](const Tensors& x) {
        return attend(complete(kLength), x[0], x[1], x[2],
                      with_score(Score::product() + Score::lookup(x[3], t5_bucket_score(32, 128))));
      },
      [&](const Tensors& x) {
        const at::Tensor bias = x[3].index_select(0, bucket.flatten()).view({kLength, kLength, 2});
        return attend_densely(dense_products(x) + bias, x[2]);
      },
      inputs);
}

/// FIRE (Li et al. 2024): a small network of log(c distance + 1) / log(c max(L, position) + 1).
TEST(ScoreFunction, IsFire) {
  Tensors inputs = self_attention_inputs(12, 2);
  const double c = 0.7;
  const double threshold = 5;
  for (const std::uint64_t seed : {11, 12, 13}) inputs.push_back(normal({3}, seed));  // weights, biases of 3 units
  for (const std::uint64_t seed : {14, 15, 16}) inputs.push_back(normal({2}, seed));  // one row of units for each head
  expect_same_function(
      [&](const Tensors& x) {
        const Score ratio = log(c * Score::distance() + 1) / log(c * max(threshold, Score::destination()) + 1);
        Score bias = 0.0;
        for (std::int64_t unit = 0; unit < 3; ++unit) {
          const at::Tensor weight_H = x[3][unit].expand({2});
          const at::Tensor bias_H = x[4][unit].expand({2}) + x[5][unit];
          bias = bias + Score::of_heads(x[static_cast<std::size_t>(6 + unit)]) *
                            relu(Score::of_heads(weight_H) * ratio + Score::of_heads(bias_H));
        }
        return attend(causal(12), x[0], x[1], x[2], with_score(Score::product() + bias));
      },
      [&](const Tensors& x) {
        const at::Tensor distance = dense_distances(12).clamp_min(0);
        const at::Tensor position = at::arange(12, at::kDouble).clamp_min(threshold).view({12, 1, 1});
        const at::Tensor ratio = (c * distance + 1).log() / (c * position + 1).log();
        at::Tensor score = dense_products(x);
        for (std::int64_t unit = 0; unit < 3; ++unit) {
          score = score + x[static_cast<std::size_t>(6 + unit)] * (x[3][unit] * ratio + x[4][unit] + x[5][unit]).relu();
        }
        return attend_densely(forget_future(score), x[2]);
      },
      inputs);
}

TEST(ScoreFunction, IsTheSpatialAndEdgeEncodingOfGraphormer) {
  const Relation relation = random_relation(20, 20, 6, /*seed=*/3);
  Tensors inputs = self_attention_inputs(20, 2);
  inputs.push_back(normal({5, 2}, 8));                  // a number for each length of the shortest path
  inputs.push_back(normal({relation.num_edges()}, 9));  // the mean of the edges on this path
  const at::Tensor length_E = at::arange(relation.num_edges()).remainder(5);
  expect_same_function(
      [&](const Tensors& x) {
        const Score spatial = Score::lookup(x[3], Score::of_edges(length_E));
        return attend(relation, x[0], x[1], x[2], with_score(Score::product() + spatial + Score::of_edges(x[4])));
      },
      [&](const Tensors& x) {
        const at::Tensor bias_EH = x[3].index_select(0, length_E) + x[4].unsqueeze(1);
        return attend_plain(relation, x[0], x[1], x[2], {.edge_bias = bias_EH});
      },
      inputs);
}

TEST(ScoreFunction, IsGatWithoutQueriesAndKeys) {
  const Relation relation = random_relation(15, 12, 4, /*seed=*/4);
  const Tensors inputs = {normal({12, 2}, 1), normal({15, 2}, 2), normal({15, 2, 3}, 3)};
  expect_same_function(
      [&](const Tensors& x) {
        return attend(relation, {}, {}, x[2],
                      with_score(leaky_relu(Score::of_destinations(x[0]) + Score::of_sources(x[1]), 0.2)));
      },
      [&](const Tensors& x) {
        const EdgeIndexTensors& edges = edge_index_tensors(relation, at::kCPU);
        const at::Tensor sum_EH = x[0].index_select(0, edges.destination_E) + x[1].index_select(0, edges.source_E);
        const at::Tensor weight_EH = softmax_over_rows(edges, 12, at::leaky_relu(sum_EH, 0.2));
        return sum_messages(edges, 12, weight_EH, x[2]);
      },
      inputs);
}

TEST(ScoreFunction, IsALearnedDecayByDistance) {
  Tensors inputs = self_attention_inputs(10, 3);
  inputs.push_back(normal({3}, 4).abs());
  expect_same_function(
      [&](const Tensors& x) {
        return attend(complete(10), x[0], x[1], x[2],
                      with_score(Score::product() * exp(-Score::of_heads(x[3]) * abs(Score::distance()))));
      },
      [&](const Tensors& x) {
        return attend_densely(dense_products(x) * (-x[3] * dense_distances(10).abs()).exp(), x[2]);
      },
      inputs);
}

TEST(ScoreFunction, DropsEdgesOfMinusInfinity) {
  const Tensors inputs = self_attention_inputs(9, 2);
  constexpr double kDropped = -std::numeric_limits<double>::infinity();
  expect_same_function(
      [&](const Tensors& x) {
        return attend(complete(9), x[0], x[1], x[2],
                      with_score(where(Score::distance() >= 0, Score::product(), kDropped)));
      },
      [&](const Tensors& x) { return attend_plain(causal(9), x[0], x[1], x[2]); }, inputs);
}

struct NamedScore {
  std::string name;
  std::function<Score(const Score& a, const Score& b)> of;
};

TEST(ScoreFunction, HasGradientsOfEveryOperation) {
  const std::vector<NamedScore> scores = {
      {"add", [](const Score& a, const Score& b) { return a + b; }},
      {"subtract", [](const Score& a, const Score& b) { return a - b; }},
      {"multiply", [](const Score& a, const Score& b) { return a * b; }},
      {"divide", [](const Score& a, const Score& b) { return a / (2 + b * b); }},
      {"divide by a constant", [](const Score& a, const Score& b) { return a / 3 - b / -0.5; }},
      {"negate", [](const Score& a, const Score& b) { return -a - b; }},
      {"abs", [](const Score& a, const Score& b) { return abs(a) - abs(b); }},
      {"exp", [](const Score& a, const Score& b) { return exp(a) - exp(b / 2); }},
      {"log", [](const Score& a, const Score& b) { return log(1 + a * a) + log(abs(b) + 1); }},
      {"tanh", [](const Score& a, const Score& b) { return tanh(a) * tanh(b); }},
      {"sigmoid", [](const Score& a, const Score& b) { return sigmoid(a) + sigmoid(2 * b); }},
      {"floor", [](const Score& a, const Score& b) { return a * floor(3 * b) + b; }},
      {"min", [](const Score& a, const Score& b) { return min(a, b) + 0.1 * a; }},
      {"max", [](const Score& a, const Score& b) { return max(a, b) + 0.1 * b; }},
      {"clamp", [](const Score& a, const Score& b) { return clamp(a, -0.5, abs(b)); }},
      {"relu", [](const Score& a, const Score& b) { return relu(a) + relu(-b); }},
      {"leaky_relu", [](const Score& a, const Score& b) { return leaky_relu(a + b, 0.1); }},
      {"where less", [](const Score& a, const Score& b) { return where(a < b, a * a, b); }},
      {"where at least", [](const Score& a, const Score& b) { return where(a >= b, a * a, 3 * b); }},
      {"where of a product", [](const Score& a, const Score& b) { return where((a > 0) * (b > 0), a, b); }},
      {"comparison", [](const Score& a, const Score& b) { return a * (b > 0) + b; }},
      {"one value twice", [](const Score& a, const Score& b) { return a * a + a * b + (a * b) / (1 + exp(a * b)); }},
  };
  for (const Relation& relation : {causal(4), random_relation(5, 4, 2, /*seed=*/2)}) {
    const std::int64_t destinations = relation.num_destinations();
    const std::int64_t sources = relation.num_sources();
    const std::int64_t edges = relation.num_edges();
    const Tensors inputs = {normal({destinations, 2, 3}, 1),
                            normal({sources, 2, 3}, 2),
                            normal({sources, 2, 2}, 3),
                            normal({destinations}, 4),
                            normal({destinations, 2}, 5),
                            normal({sources}, 6),
                            normal({sources, 2}, 7),
                            normal({edges}, 8),
                            normal({edges, 2}, 9),
                            normal({2}, 10),
                            normal({4}, 11),
                            normal({3, 2}, 12)};
    for (const NamedScore& score : scores) {
      SCOPED_TRACE(score.name);
      expect_gradients_match(
          [&](const Tensors& x) {
            const Score columns = Score::of_destinations(x[3]) + Score::of_destinations(x[4]) * Score::of_heads(x[9]) +
                                  Score::of_sources(x[5]) * Score::of_sources(x[6]) + Score::of_edges(x[7]) +
                                  Score::of_edges(x[8]);
            const Score by_edges = Score::lookup(x[10], 2 + Score::of_edges(x[7].detach()));
            const Score by_distance = Score::lookup(x[11], abs(Score::distance()));
            return attend(relation, x[0], x[1], x[2],
                          with_score(score.of(Score::product() + by_edges, columns / 2) + by_distance));
          },
          inputs);
    }
  }
}

TEST(ScoreFunction, MatchesItsDefinitionOnEveryRelationInFloatAndBFloat16) {
  for (const auto& [name, relation] : large_relation_zoo()) {
    for (const Relation& form : {relation, relation.to_csr()}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        SCOPED_TRACE(name);
        Tensors inputs = random_inputs(form, 2, 5, 3, type);
        inputs.push_back(normal({form.num_sources(), 2}, 5, at::kFloat));
        inputs.push_back(normal({form.num_destinations(), 2}, 6, at::kFloat));
        inputs.push_back(normal({9, 2}, 7, at::kFloat));
        inputs.push_back(normal({4}, 8, at::kFloat));
        auto options = [&](const Tensors& x) {
          const Score kind = Score::of_edges(at::arange(form.num_edges()).remainder(4));
          return AttentionOptions{
              .dropout = 0.3,
              .score = tanh(Score::product() + Score::of_sources(x[4])) * sigmoid(Score::of_destinations(x[5])) +
                       Score::of_edges(x[3]) + Score::lookup(x[6], abs(Score::distance())) + Score::lookup(x[7], kind)};
        };
        std::vector<double> rounding = rounding_errors(form, {.dropout = 0.3}, inputs);
        rounding.resize(9, rounding.back() * (10 + 10 * std::sqrt(static_cast<double>(form.num_edges()))));
        expect_matches([&](const Tensors& x) { return attend(form, x[0], x[1], x[2], options(x)); },
                       [&](const Tensors& x) { return attend_plain(form, x[0], x[1], x[2], options(x)); }, inputs,
                       rounding);
      }
    }
  }
}

TEST(ScoreFunction, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  for (const Relation& relation : {window(700, {.before = 40, .after = 30}), random_relation(500, 600, 20, /*seed=*/5),
                                   prefix(40, std::vector<std::int64_t>(30, 30)), random_relation(90, 90, 60, 6)}) {
    Tensors inputs = random_inputs(relation, 3, 8, 8, at::kFloat);
    inputs.push_back(normal({relation.num_sources(), 3}, 5, at::kFloat));
    inputs.push_back(normal({32, 3}, 6, at::kFloat));
    inputs.push_back(normal({8, 3}, 7, at::kFloat));
    auto results = [&] {
      return output_and_gradients(
          [&](const Tensors& x) {
            const Score kind = Score::of_edges(at::arange(relation.num_edges()).remainder(8));
            return attend(relation, x[0], x[1], x[2],
                          with_score(Score::product() * Score::of_sources(x[4]) + Score::of_edges(x[3]) +
                                     Score::lookup(x[5], abs(Score::distance())) + Score::lookup(x[6], kind)));
          },
          inputs);
    };
    set_num_threads(1);
    const Tensors expected = results();
    for (const int threads : {2, 3, 5}) {
      SCOPED_TRACE(threads);
      set_num_threads(threads);
      const Tensors actual = results();
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(actual[i].equal(expected[i])) << result_name(i);
    }
  }
  set_num_threads(threads_before);
}

TEST(ScoreFunction, HasWeightsThatMatchTheirDefinition) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    Tensors inputs = random_inputs(relation, 2, 5, 3, at::kFloat);
    inputs.erase(inputs.begin() + 2);
    auto options = [](const Tensors& x) {
      return with_score(2 * tanh(Score::product()) + Score::of_edges(x[2]) + 0.1 * Score::distance());
    };
    auto weights = [&](const Tensors& x) { return attention_weights(relation, x[0], x[1], options(x)); };
    expect_same_function(
        weights, [&](const Tensors& x) { return attention_weights_plain(relation, x[0], x[1], options(x)); }, inputs);
    const at::NoGradGuard no_gradients;
    expect_close(weights(inputs), attention_weights_plain(relation, inputs[0], inputs[1], options(inputs)), "weights");
  }
}

TEST(ScoreFunction, MayHaveARelationForEachHead) {
  const std::vector<Relation> relations = {causal(9), window(9, {.before = 2, .after = 4})};
  Tensors inputs = self_attention_inputs(9, 2);
  inputs.push_back(normal({9, 2}, 5));
  inputs.push_back(normal({7, 2}, 6));
  auto options = [](const Tensors& x) {
    return with_score(Score::product() + Score::of_sources(x[3]) + Score::lookup(x[4], 3 + Score::distance()) +
                      Score::of_heads(at::tensor({0.5, 2.0}, at::kDouble)) * tanh(Score::product()));
  };
  expect_same_function([&](const Tensors& x) { return attend(relations, x[0], x[1], x[2], options(x)); },
                       [&](const Tensors& x) { return attend_heads_plain(relations, x[0], x[1], x[2], options(x)); },
                       inputs);
}

std::string error_of_score(const Score& score) {
  const at::Tensor nodes = at::zeros({5, 2, 4});
  return error_of([&] { attend(causal(5), nodes, nodes, nodes, with_score(score)); });
}

TEST(ScoreFunctionErrors, NameTheColumn) {
  EXPECT_EQ(error_of_score(Score::of_edges(at::zeros({14}))),
            "attend: score has a column of edges of shape [14], needs [15] or [15, 2]");
  EXPECT_EQ(error_of_score(Score::of_sources(at::zeros({5, 3}))),
            "attend: score has a column of sources of shape [5, 3], needs [5] or [5, 2]");
  EXPECT_EQ(error_of_score(1 + Score::of_destinations(at::zeros({}))),
            "attend: score has a column of destinations of shape [], needs [5] or [5, 2]");
  EXPECT_EQ(error_of_score(exp(Score::of_heads(at::zeros({5})))),
            "attend: score has a column of heads of shape [5], needs [2]");
  EXPECT_EQ(error_of_score(Score::lookup(at::zeros({0, 2}), Score::distance())),
            "attend: score has a table of shape [0, 2], needs [T] or [T, 2], with T of at least 1");
  EXPECT_EQ(error_of_score(Score::of_sources(at::zeros({5}, at::kComplexFloat))),
            "attend: score has a column of sources of type ComplexFloat, needs floating-point numbers or integers");
  EXPECT_EQ(error_of([] { Score::of_edges({}); }), "Score: a column of edges is undefined, needs a tensor");
}

TEST(ScoreFunctionErrors, NameWhatItReplaces) {
  const at::Tensor nodes = at::zeros({5, 2, 4});
  EXPECT_EQ(error_of([&] { attend(causal(5), nodes, nodes, nodes, {.clamp = 1.0, .score = Score::product()}); }),
            "attend: score is set beside clamp, needs to contain it; write clamp(Score::product(), …) or + "
            "Score::of_edges(…)");
  const std::vector<Relation> relations = {causal(5), causal(5)};
  EXPECT_EQ(error_of([&] { attend(relations, nodes, nodes, nodes, with_score(Score::of_edges(at::zeros({15})))); }),
            "attend: score has a column of edges, needs none where each head has edges of its own");
}

}  // namespace
}  // namespace edgewise
