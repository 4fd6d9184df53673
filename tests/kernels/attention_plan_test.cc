// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/attention_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/attention_problem.h"
#include "tests/kernels/instruction_sets.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

using testing::ElementsAre;

std::string_view path_name(const Relation& relation) {
  return attention_path_name(AttentionPlan(relation.view()).path());
}

TEST(AttentionPlan, UsesTilesForIntervalsAndRowsForOtherRelations) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    const bool is_intervals = relation.prefer_intervals().form() == Relation::Form::kIntervals;
    EXPECT_EQ(path_name(relation), is_intervals ? "tiles" : "rows");
    EXPECT_EQ(path_name(relation.to_csr()), path_name(relation));
  }
}

TEST(AttentionPlan, UsesRowsForSparseAndUnorderedRelations) {
  std::vector<std::string> by_rows;
  for (const auto& [name, relation] : relation_zoo()) {
    if (path_name(relation) == "rows") by_rows.push_back(name);
  }

  EXPECT_THAT(by_rows, ElementsAre("dilated", "strided", "random sparse", "rows with gaps", "rows in no order",
                                   "duplicate edges", "descending rows", "shuffled rows"));
}

TEST(AttentionPlan, UsesTheReferenceForDouble) {
  const Relation relation = strided(14, 4);
  const AttentionPlan plan(relation.view());
  const ForcedInstructionSet forced(runnable_instruction_sets().back());

  EXPECT_EQ(plan.path_of<double>(), AttentionPath::kReference);
  EXPECT_EQ(plan.path_of<float>(), AttentionPath::kRows);
  EXPECT_EQ(plan.path_of<BFloat16>(), AttentionPath::kRows);
}

TEST(AttentionPlan, UsesTheReferenceForEveryTypeIfTheReferenceIsForced) {
  const Relation relation = strided(14, 4);
  const AttentionPlan plan(relation.view());
  const ForcedInstructionSet forced(InstructionSet::kReference);

  EXPECT_EQ(plan.path_of<float>(), AttentionPath::kReference);
  EXPECT_EQ(plan.path_of<BFloat16>(), AttentionPath::kReference);
}

template <typename T>
AttentionResult<T> run_plan(const AttentionProblem<T>& problem) {
  const AttentionPlan plan(problem.relation().view());
  return problem.run_with([&](const auto& p) { attention_forward(p, plan); },
                          [&](const auto& p) { attention_backward(p, plan); });
}

/// Returns a relation of rows of two edges, from the sources 2d and 2d + 1, in an order that tiles or rows compute.
Relation pairs(std::int64_t num_rows, AttentionPath path) {
  std::vector<EdgeIndex> row_begin = {0};
  std::vector<NodeIndex> sources;
  for (NodeIndex row = 0; row < num_rows; ++row) {
    row_begin.push_back(2 * (row + 1));
    for (const NodeIndex i : path == AttentionPath::kTiles ? std::array{0, 1} : std::array{1, 0}) {
      sources.push_back(2 * row + i);
    }
  }
  return Relation::from_csr(2 * num_rows, row_begin, sources);
}

// The sum of weights 0.5 and 0.5 that are computed from scores of about 1000 differs from 1 by about 6e-5.
TEST(AttentionPlan, GradientsOfEqualEdgesOfLargeScoresCancel) {
  constexpr std::int64_t kSize = 16;
  for (const AttentionPath path : {AttentionPath::kTiles, AttentionPath::kRows}) {
    AttentionProblem<float> problem(pairs(100, path), {1, kSize, kSize}, {.name = "", .scale = 250});
    for (std::vector<float>* nodes : {&problem.key(), &problem.value()}) {
      for (auto first = nodes->begin(); first != nodes->end(); first += 2 * kSize) {
        std::copy_n(first, kSize, first + kSize);
      }
    }
    for_instruction_sets([&] {
      for (const float gradient : run_plan(problem).grad_query) EXPECT_NEAR(gradient, 0, 1e-3);
    });
  }
}

/// Expects that `actual` is finite exactly where `expected` is.
template <typename T>
void expect_finite_at_same_places(const std::vector<T>& actual, const std::vector<double>& expected,
                                  const std::string& name) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(std::isfinite(static_cast<float>(actual[i])), std::isfinite(expected[i])) << name << ", element " << i;
  }
}

template <typename T>
class AttentionPlanOf : public testing::Test {};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(AttentionPlanOf, ElementTypes);

// Sizes of whole vectors, and others, for which the kernels have other ways of storing gradients.
TYPED_TEST(AttentionPlanOf, NumbersThatAreNotFiniteReachOnlyNodesWithAnEdgeFromTheirNode) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<Relation> relations = {causal(8),
                                           causal(150),
                                           join(std::vector<Relation>{complete(5), complete(7)}),
                                           Relation::from_intervals(9, {{4, 9}, {0, 2}}),
                                           window(40, {.before = 2, .after = 1}),
                                           rows_from(40, {20, 1, 8}, 12, 1)};
  for (const Relation& relation : relations) {
    for (const std::int64_t size : {16, 5}) {
      for (const float wrong : {kInfinity, -kInfinity, std::nanf("")}) {
        for (auto select : {&AttentionProblem<TypeParam>::query, &AttentionProblem<TypeParam>::key,
                            &AttentionProblem<TypeParam>::value, &AttentionProblem<TypeParam>::grad_out}) {
          AttentionProblem<TypeParam> problem(relation, {2, size, size}, {.name = ""});
          std::vector<TypeParam>& tensor = (problem.*select)();
          tensor[tensor.size() - 1] = TypeParam(wrong);
          SCOPED_TRACE(fmt::format("{} sources, {} edges, size {}, {}, tensor of {}", relation.num_sources(),
                                   relation.num_edges(), size, wrong, tensor.size()));
          const AttentionResult<double> expected = problem.run_in_double();
          for_instruction_sets([&] {
            const AttentionResult<TypeParam> actual = run_plan(problem);
            expect_finite_at_same_places(actual.out, expected.out, "out");
            expect_finite_at_same_places(actual.grad_query, expected.grad_query, "grad_query");
            expect_finite_at_same_places(actual.grad_key, expected.grad_key, "grad_key");
            expect_finite_at_same_places(actual.grad_value, expected.grad_value, "grad_value");
          });
        }
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
