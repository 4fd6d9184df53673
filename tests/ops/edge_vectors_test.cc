// SPDX-License-Identifier: Apache-2.0
// Attention with keys and values of edges: equals its definition and the layers that use it.
#include <cmath>

#include "edgewise/graph/builders.h"
#include "tests/ops/attend_comparison.h"
#include "tests/support/gradient_check.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

/// Returns random query, key, value, edge key and edge value.
Tensors inputs_with_edges(const Relation& relation, HeadSizes sizes, at::ScalarType type = at::kDouble) {
  Tensors inputs = random_inputs(relation, 2, sizes.head_size, sizes.value_size, type);
  inputs[3] = normal({relation.num_edges(), 2, sizes.head_size}, 5, type);
  inputs.push_back(normal({relation.num_edges(), 2, sizes.value_size}, 6, type));
  return inputs;
}

AttentionOptions with_edges(AttentionOptions options, const Tensors& x) {
  options.edge_key = x[3];
  options.edge_value = x[4];
  return options;
}

class EdgeVectorsOfType : public testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(, EdgeVectorsOfType, testing::Values(at::kFloat, at::kBFloat16, at::kDouble),
                         [](const auto& type) { return std::string(at::toString(type.param)); });

TEST_P(EdgeVectorsOfType, MatchTheirDefinitionOnEveryRelation) {
  for (const auto& [name, relation] : relation_zoo()) {
    for (const Relation& form : {relation, relation.to_csr()}) {
      for (const AttentionOptions& options :
           {AttentionOptions{}, AttentionOptions{.dropout = 0.3}, AttentionOptions{.clamp = 0.7}}) {
        SCOPED_TRACE(name);
        const Tensors inputs = inputs_with_edges(form, {.head_size = 5, .value_size = 3}, GetParam());
        std::vector<double> rounding = rounding_errors(form, options, {inputs[0], inputs[1], inputs[2]});
        for (double& error : rounding) error *= 4;
        rounding = {rounding[0], rounding[1], rounding[2], rounding[3], rounding[2], rounding[3]};
        expect_matches([&](const Tensors& x) { return attend(form, x[0], x[1], x[2], with_edges(options, x)); },
                       [&](const Tensors& x) { return attend_plain(form, x[0], x[1], x[2], with_edges(options, x)); },
                       inputs, rounding);
      }
    }
  }
}

TEST_P(EdgeVectorsOfType, MatchTheirDefinitionForEverySize) {
  const Relation relation = random_relation(40, 9, 35, /*seed=*/8);
  for (const std::int64_t size : {1, 7, 8, 16, 17, 64}) {
    SCOPED_TRACE(size);
    const Tensors inputs = inputs_with_edges(relation, {.head_size = size, .value_size = size + 1}, GetParam());
    std::vector<double> rounding = rounding_errors(relation, {}, {inputs[0], inputs[1], inputs[2]});
    for (double& error : rounding) error *= 4;
    rounding = {rounding[0], rounding[1], rounding[2], rounding[3], rounding[2], rounding[3]};
    expect_matches([&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], with_edges({}, x)); },
                   [&](const Tensors& x) { return attend_plain(relation, x[0], x[1], x[2], with_edges({}, x)); },
                   inputs, rounding);
  }
}

TEST(EdgeVectors, HaveGradientsThatMatchFiniteDifferences) {
  const Relation relation = random_relation(6, 5, 3, /*seed=*/2);
  expect_gradients_match(
      [&](const Tensors& x) {
        AttentionOptions options = with_edges({}, x);
        options.score = 2 * tanh(Score::product() / 2);
        return attend(relation, x[0], x[1], x[2], options);
      },
      inputs_with_edges(relation, {.head_size = 3, .value_size = 2}));
}

/// Relative keys and values (Shaw et al. 2018): a table of vectors for distances of at most 2.
TEST(EdgeVectors, AreTheRelativePositionsOfShaw) {
  const std::int64_t length = 7;
  const Relation relation = complete(length);
  const EdgeIndexTensors& edges = edge_index_tensors(relation, at::kCPU);
  const at::Tensor row_E = (edges.source_E - edges.destination_E).clamp(-2, 2) + 2;
  const Tensors inputs = {normal({length, 2, 4}, 1), normal({length, 2, 4}, 2), normal({length, 2, 4}, 3),
                          normal({5, 4}, 4), normal({5, 4}, 5)};
  expect_same_function(
      [&](const Tensors& x) {
        const auto of_edges = [&](const at::Tensor& table) {
          return table.index_select(0, row_E).unsqueeze(1).expand({relation.num_edges(), 2, 4});
        };
        return attend(relation, x[0], x[1], x[2], {.edge_key = of_edges(x[3]), .edge_value = of_edges(x[4])});
      },
      [&](const Tensors& x) {
        const at::Tensor row_DS = row_E.view({length, length});
        const at::Tensor key_DSK = x[3].index_select(0, row_DS.flatten()).view({length, length, 4});
        const at::Tensor value_DSK = x[4].index_select(0, row_DS.flatten()).view({length, length, 4});
        const at::Tensor score_DSH =
            (at::einsum("dhk,shk->dsh", {x[0], x[1]}) + at::einsum("dhk,dsk->dsh", {x[0], key_DSK})) / 2;
        const at::Tensor weight_DSH = score_DSH.softmax(1);
        return at::einsum("dsh,shk->dhk", {weight_DSH, x[2]}) + at::einsum("dsh,dsk->dhk", {weight_DSH, value_DSK});
      },
      inputs);
}

TEST(EdgeVectors, ReachTheWeights) {
  const Relation relation = random_relation(9, 8, 4, /*seed=*/6);
  const Tensors inputs = inputs_with_edges(relation, {.head_size = 5, .value_size = 3}, at::kFloat);
  const AttentionOptions options = with_edges({}, inputs);
  expect_close(attention_weights(relation, inputs[0], inputs[1], options),
               attention_weights_plain(relation, inputs[0], inputs[1], options), "weights");
}

TEST(EdgeVectorErrors, NameTheShape) {
  const at::Tensor nodes = at::zeros({5, 2, 4});
  const auto error_with = [&](const AttentionOptions& options) {
    return error_of([&] { attend(causal(5), nodes, nodes, nodes, options); });
  };
  EXPECT_EQ(error_with({.edge_key = at::zeros({14, 2, 4})}),
            "attend: edge_key has 14 rows, but the relation has 15 edges, needs one row per edge");
  EXPECT_EQ(error_with({.edge_key = at::zeros({15, 2, 5})}),
            "attend: edge_key is [15, 2, 5] but query is [5, 2, 4], needs equal last dimensions (head sizes)");
  EXPECT_EQ(error_with({.edge_value = at::zeros({15, 2, 5})}),
            "attend: edge_value is [15, 2, 5] but value is [5, 2, 4], needs equal last dimensions (head sizes)");
  EXPECT_EQ(error_with({.edge_value = at::zeros({15, 2})}),
            "attend: edge_value is [15, 2], needs 3 dimensions: edges, heads, size of a head");
}

}  // namespace
}  // namespace edgewise
