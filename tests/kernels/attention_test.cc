// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/kernels/attention_cases.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

template <typename T>
class ReferenceAttention : public testing::Test {};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(ReferenceAttention, ElementTypes);

TYPED_TEST(ReferenceAttention, MatchesTheDefinitionOnEveryRelation) {
  for (const auto& [name, relation] : large_relation_zoo()) {
    for (const AttentionCase& options : attention_cases()) {
      SCOPED_TRACE(name + ", " + options.name);
      const AttentionProblem<TypeParam> problem(relation, {3, 8, 5}, options);

      expect_all_near(problem.run(), problem.compute_by_definition());
    }
  }
}

TYPED_TEST(ReferenceAttention, MatchesTheDefinitionWithFewerHeadsOfKeys) {
  for (const auto& [name, relation] : large_relation_zoo()) {
    for (const std::int64_t key_heads : {1, 2}) {
      SCOPED_TRACE(name + ", " + std::to_string(key_heads));
      const AttentionProblem<TypeParam> problem(relation, {6, 8, 5, key_heads}, {.name = "", .dropout = 0.3});

      // The gradient of a key is a sum over the heads of queries that share the key.
      const double sums = kTolerance<TypeParam>.sums * static_cast<double>(6 / key_heads);
      expect_outputs_and_gradients_near(problem.run(), problem.compute_by_definition(), sums, sums);
    }
  }
}

TYPED_TEST(ReferenceAttention, MatchesTheDefinitionForEveryHeadSize) {
  for (const std::int64_t head_size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 65, 257}) {
    for (const std::int64_t value_size : {head_size, head_size + 1}) {
      SCOPED_TRACE("head size " + std::to_string(head_size) + ", value size " + std::to_string(value_size));
      const AttentionProblem<TypeParam> problem(causal(6), {2, head_size, value_size}, {.name = "", .scale = 0.1});

      expect_all_near(problem.run(), problem.compute_by_definition());
    }
  }
}

TYPED_TEST(ReferenceAttention, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  const std::vector<Relation> sentences = {complete(40), bipartite(3, 30), complete(1), causal(25).to_csr()};
  for (const Relation& relation : {join(sentences), causal(90), random_relation(50, 70, 20, /*seed=*/3)}) {
    const AttentionProblem<TypeParam> problem(relation, {4, 9, 9}, {.name = "", .has_bias = true, .dropout = 0.2});
    set_num_threads(1);
    const AttentionResult<TypeParam> expected = problem.run();
    for (const int threads : {2, 3, 5}) {
      SCOPED_TRACE(threads);
      set_num_threads(threads);

      const AttentionResult<TypeParam> actual = problem.run();

      EXPECT_EQ(actual.out, expected.out);
      EXPECT_EQ(actual.weight, expected.weight);
      EXPECT_EQ(actual.grad_query, expected.grad_query);
      EXPECT_EQ(actual.grad_key, expected.grad_key);
      EXPECT_EQ(actual.grad_value, expected.grad_value);
      EXPECT_EQ(actual.grad_edge_bias, expected.grad_edge_bias);
    }
  }
  set_num_threads(threads_before);
}

TYPED_TEST(ReferenceAttention, DoesNotOverflowOnScoresOfTenThousand) {
  AttentionProblem<TypeParam> problem(complete(6), {1, 4, 4}, {.name = "", .has_bias = true, .scale = 1e-3});
  for (std::size_t i = 0; i < problem.edge_bias().size(); ++i) {
    problem.edge_bias()[i] = static_cast<TypeParam>(i % 3 == 0 ? 1e4 : -1e4);
  }

  const AttentionResult<TypeParam> actual = problem.run();

  const AttentionResult<double> expected = problem.compute_by_definition();
  // A score of 1e4 has a rounding error of up to 1e4 * epsilon, and its weight has this relative error.
  const Tolerance tolerance = with_sums<TypeParam>(2e4 * std::numeric_limits<TypeParam>::epsilon());
  expect_near(actual.out, expected.out, "out", tolerance);
  expect_near(actual.weight, expected.weight, "weight", tolerance);
  expect_near(actual.grad_query, expected.grad_query, "grad_query", tolerance);
  expect_near(actual.grad_value, expected.grad_value, "grad_value", tolerance);
}

TYPED_TEST(ReferenceAttention, TreatsAnEdgeOfScoreMinusInfinityAsAbsent) {
  constexpr TypeParam kAbsent = -std::numeric_limits<TypeParam>::infinity();
  AttentionProblem<TypeParam> problem(complete(3), {1, 4, 4}, {.name = "", .has_bias = true});
  problem.edge_bias() = {kAbsent, 0,       0,  // row 0 has edges of finite score from sources 1 and 2
                         kAbsent, kAbsent, kAbsent, 0, 0, 0};

  const AttentionResult<TypeParam> result = problem.run();

  EXPECT_EQ(result.weight[0], 0);
  EXPECT_NEAR(result.weight[1] + result.weight[2], 1, kTolerance<TypeParam>.sums);
  EXPECT_EQ(result.log_normalizer[1], kAbsent);
  for (std::size_t i = 4; i < 8; ++i) {
    EXPECT_EQ(result.out[i], 0);
    EXPECT_EQ(result.grad_query[i], 0);
  }
  for (const TypeParam gradient : result.grad_key) EXPECT_TRUE(std::isfinite(gradient));
  EXPECT_EQ(result.grad_edge_bias[0], 0);
}

}  // namespace
}  // namespace edgewise::kernels
