// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/row_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/kernels/attention_cases.h"
#include "tests/kernels/instruction_sets.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

using testing::ElementsAre;

template <typename T>
AttentionResult<T> run_rows(const AttentionProblem<T>& problem) {
  const EdgeOrders edges(problem.relation().view());
  return problem.run_with([&](const auto& p) { cpu::row_attention_forward(p, edges); },
                          [&](const auto& p) { cpu::row_attention_backward(p, edges); },
                          [&](const auto& p) { cpu::row_attention_weights(p, edges); });
}

template <typename T>
class RowAttention : public testing::Test {};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(RowAttention, ElementTypes);

TYPED_TEST(RowAttention, MatchesTheDefinitionOnEveryRelationInBothForms) {
  for (const auto& [name, relation] : large_relation_zoo()) {
    for (const Relation& form : {relation, relation.to_csr()}) {
      for (const AttentionCase& options : attention_cases()) {
        SCOPED_TRACE(name + ", " + options.name);
        const AttentionProblem<TypeParam> problem(form, {3, 8, 5}, options);
        const AttentionResult<double> expected = problem.compute_by_definition();
        for_instruction_sets([&] { expect_all_near(run_rows(problem), expected); });
      }
    }
  }
}

TYPED_TEST(RowAttention, MatchesTheDefinitionForEveryHeadSize) {
  for (const std::int64_t head_size : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65, 127, 128, 257}) {
    for (const std::int64_t value_size : {head_size, head_size + 1}) {
      SCOPED_TRACE("head size " + std::to_string(head_size) + ", value size " + std::to_string(value_size));
      const AttentionProblem<TypeParam> problem(random_relation(9, 6, 5, /*seed=*/2), {2, head_size, value_size},
                                                {.name = "", .scale = 0.1});
      const AttentionResult<double> expected = problem.compute_by_definition();
      for_instruction_sets([&] { expect_all_near(run_rows(problem), expected); });
    }
  }
}

TYPED_TEST(RowAttention, MatchesTheDefinitionForEveryRowSize) {
  for (const std::int64_t row_size : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65}) {
    SCOPED_TRACE(row_size);
    const AttentionProblem<TypeParam> problem(bipartite(row_size, 3).to_csr(), {2, 16, 16},
                                              {.name = "", .has_bias = true, .dropout = 0.3});
    const AttentionResult<double> expected = problem.compute_by_definition();
    for_instruction_sets([&] { expect_all_near(run_rows(problem), expected); });
  }
}

TYPED_TEST(RowAttention, GivesTheSameBitsInEveryRunAndForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  const AttentionProblem<TypeParam> problem(random_relation(400, 300, 20, /*seed=*/3), {4, 9, 9},
                                            {.name = "", .has_bias = true, .dropout = 0.2});
  for_instruction_sets([&] {
    set_num_threads(1);
    const AttentionResult<TypeParam> expected = run_rows(problem);
    for (const int threads : {1, 2, 3, 5}) {
      SCOPED_TRACE(threads);
      set_num_threads(threads);

      EXPECT_TRUE(run_rows(problem) == expected);
    }
  });
  set_num_threads(threads_before);
}

TYPED_TEST(RowAttention, DoesNotOverflowOnScoresOfTenThousand) {
  AttentionProblem<TypeParam> problem(complete(6).to_csr(), {1, 4, 4}, {.name = "", .has_bias = true, .scale = 1e-3});
  for (std::size_t i = 0; i < problem.edge_bias().size(); ++i) problem.edge_bias()[i] = i % 3 == 0 ? 1e4f : -1e4f;
  const AttentionResult<double> expected = problem.compute_by_definition();
  // A score of 1e4 has a rounding error of up to 1e4 * epsilon, and its weight has this relative error.
  const double sums = 2e4 * std::numeric_limits<float>::epsilon();

  for_instruction_sets([&] {
    const AttentionResult<TypeParam> actual = run_rows(problem);

    expect_near(actual.out, expected.out, "out", with_sums<TypeParam>(sums));
    expect_near(actual.weight, expected.weight, "weight", with_sums<float>(sums));
    expect_near(actual.grad_query, expected.grad_query, "grad_query", with_sums<TypeParam>(sums));
    expect_near(actual.grad_value, expected.grad_value, "grad_value", with_sums<TypeParam>(sums));
  });
}

TYPED_TEST(RowAttention, TreatsAnEdgeOfScoreMinusInfinityAsAbsent) {
  constexpr float kAbsent = -std::numeric_limits<float>::infinity();
  AttentionProblem<TypeParam> problem(complete(3).to_csr(), {1, 4, 4}, {.name = "", .has_bias = true});
  problem.edge_bias() = {kAbsent, 0,       0,  // row 0 has edges of finite score from sources 1 and 2
                         kAbsent, kAbsent, kAbsent, 0, 0, 0};

  for_instruction_sets([&] {
    const AttentionResult<TypeParam> result = run_rows(problem);

    EXPECT_EQ(result.weight[0], 0);
    EXPECT_NEAR(result.weight[1] + result.weight[2], 1, kTolerance<float>.sums);
    EXPECT_EQ(result.log_normalizer[1], kAbsent);
    for (std::size_t i = 4; i < 8; ++i) {
      EXPECT_EQ(result.out[i], 0);
      EXPECT_EQ(result.grad_query[i], 0);
    }
    for (const TypeParam gradient : result.grad_key) EXPECT_TRUE(std::isfinite(gradient));
    EXPECT_EQ(result.grad_edge_bias[0], 0);
  });
}

TYPED_TEST(RowAttention, PropagatesNanInAQueryOnlyToItsRow) {
  AttentionProblem<TypeParam> problem(bipartite(20, 3).to_csr(), {1, 4, 4}, {.name = ""});
  problem.query()[4] = TypeParam(std::numeric_limits<float>::quiet_NaN());

  for_instruction_sets([&] {
    const AttentionResult<TypeParam> result = run_rows(problem);

    for (std::size_t i = 0; i < result.out.size(); ++i) {
      EXPECT_EQ(std::isnan(result.out[i]), i / 4 == 1) << i;
      EXPECT_EQ(std::isnan(result.grad_query[i]), i / 4 == 1) << i;
    }
    for (const TypeParam gradient : result.grad_key) EXPECT_TRUE(std::isnan(gradient));
  });
}

TEST(ReferenceAttentionInBf16, MatchesTheDefinitionOnEveryRelation) {
  for (const auto& [name, relation] : large_relation_zoo()) {
    for (const AttentionCase& options : attention_cases()) {
      SCOPED_TRACE(name + ", " + options.name);
      const AttentionProblem<BFloat16> problem(relation, {3, 8, 5}, options);

      expect_all_near(problem.run(), problem.compute_by_definition());
    }
  }
}

TEST(EdgesBySource, ListTheEdgesOfEachSourceInAscendingOrder) {
  const Relation relation = Relation::from_csr(4, {0, 3, 3, 6}, {3, 1, 1, 0, 3, 1});

  const EdgesBySource edges = group_by_source(relation.view());

  EXPECT_THAT(edges.begin, ElementsAre(0, 1, 4, 4, 6));
  EXPECT_THAT(edges.edge, ElementsAre(3, 1, 2, 5, 0, 4));
  EXPECT_THAT(edges.destination, ElementsAre(2, 0, 0, 2, 0, 2));
}

}  // namespace
}  // namespace edgewise::kernels
