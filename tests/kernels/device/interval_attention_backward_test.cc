// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/attention/interval_attention.h"
#include "tests/kernels/attention_cases.h"
#include "tests/kernels/device/attention_on_device.h"
#include "tests/kernels/device/schedules.h"
#include "tests/support/device_buffer.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

// Runs forward and backward, for one head or for all.
template <typename T>
AttentionResult<T> run(const AttentionProblem<T>& problem, std::optional<std::int64_t> only_head = {}) {
  const std::optional<std::vector<Interval>> intervals = rows_as_intervals(problem.relation().view());
  RelationView relation = problem.relation().view();
  relation.intervals = intervals->data();
  relation.sources = nullptr;
  return run_on_device(
      problem, relation,
      [&](auto p, const RelationView& on_device) {
        p.only_head = only_head;
        interval_attention_forward(p, on_device, device::Stream());
      },
      [&](auto p, const RelationView& on_device) {
        p.forward.only_head = only_head;
        device::Buffer<char> workspace(interval_backward_workspace(on_device, p.forward.heads().size()));
        interval_attention_backward(p, on_device, workspace.data(), device::Stream());
      });
}

// The exponent of a weight, of up to 16, has an error of some 2^-22. In bf16, weights and gradients of scores are
// rounded before they multiply; the largest terms of a sum are 16 times the root mean square of the sums.
template <typename T>
constexpr Tolerance kGradientTolerance = with_sums<T>(2 * kTolerance<T>.sums);
template <>
constexpr Tolerance kGradientTolerance<BFloat16> = {2 * 0x1p-8, 16 * 0x1p-9};

// Compares with the reference in double, from the same output and log normalizer.
template <typename T>
void expect_gradients_near_reference(const AttentionProblem<T>& problem, const AttentionResult<T>& actual) {
  const RelationView relation = problem.relation().view();
  const AttentionResult<double> expected = AttentionProblem<double>(problem).run_with(
      [&](const auto& p) {
        std::ranges::copy(actual.out, p.out);
        std::ranges::copy(actual.log_normalizer, p.log_normalizer);
      },
      [&](const auto& p) { reference::attention_backward(p, relation); });
  constexpr Tolerance kTolerated = kGradientTolerance<T>;
  expect_near(actual.grad_query, expected.grad_query, "grad_query", kTolerated);
  expect_near(actual.grad_key, expected.grad_key, "grad_key", kTolerated);
  expect_near(actual.grad_value, expected.grad_value, "grad_value", kTolerated);
  expect_near(actual.grad_edge_bias, expected.grad_edge_bias, "grad_edge_bias");
}

// 150 rows, whose intervals ascend, descend, or are empty. The first 64 sources have edges to all tiles of 32 rows but
// the second one, and the last 8 sources have none.
Relation scattered_intervals() {
  std::vector<Interval> rows(150);
  for (NodeIndex row = 0; row < 150; ++row) {
    const NodeIndex first = row / 32 % 2 == 0 ? row / 4 : 190 - row;
    if (row % 7 != 3) rows[row] = {.begin = first, .end = first + row % 9};
  }
  return Relation::from_intervals(200, rows);
}

Relation descending_intervals() {
  std::vector<Interval> rows;
  for (NodeIndex row = 0; row < 70; ++row) rows.push_back({.begin = 190 - 2 * row, .end = 200 - 2 * row});
  return Relation::from_intervals(200, rows);
}

template <typename T>
class IntervalAttentionBackward : public testing::Test {};
using DeviceTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(IntervalAttentionBackward, DeviceTypes);

TYPED_TEST(IntervalAttentionBackward, MatchesTheReferenceOnEveryRelationOfIntervals) {
  int count = 0;
  for (const auto& [name, relation] : relation_zoo()) {
    if (!rows_as_intervals(relation.view())) continue;
    ++count;
    for (const AttentionCase& options : attention_cases()) {
      SCOPED_TRACE(name + ", " + options.name);
      const AttentionProblem<TypeParam> problem(relation, {2, 32, 32}, options);

      expect_gradients_near_reference(problem, run(problem));
    }
  }
  EXPECT_GE(count, 15);
}

TYPED_TEST(IntervalAttentionBackward, FindsTheRowsOfEverySource) {
  const AttentionCase all = attention_cases().back();
  for (const Relation& relation :
       {scattered_intervals(), descending_intervals(), bipartite(130, 70), causal(99), bipartite(1, 129)}) {
    SCOPED_TRACE(std::to_string(relation.num_sources()) + " sources");
    const AttentionProblem<TypeParam> problem(relation, {1, 32, 32}, all);

    expect_gradients_near_reference(problem, run(problem));
  }
}

TYPED_TEST(IntervalAttentionBackward, GivesTheSameBitsInEverySchedule) {
  const Relation relation = join(std::vector<Relation>{causal(37), complete(41), bipartite(3, 5)});
  for (const std::int64_t size : {32, 64, 96, 128}) {
    SCOPED_TRACE("head size " + std::to_string(size));
    const AttentionProblem<TypeParam> problem(relation, {1, size, size},
                                              {.name = "", .has_bias = true, .dropout = 0.3, .scale = 0.2});
    const AttentionResult<TypeParam> expected = run(problem);
    expect_gradients_near_reference(problem, expected);

    gpu::for_each_schedule([&] {
      const AttentionResult<TypeParam> actual = run(problem);
      EXPECT_TRUE(actual.grad_query == expected.grad_query);
      EXPECT_TRUE(actual.grad_key == expected.grad_key);
      EXPECT_TRUE(actual.grad_value == expected.grad_value);
      EXPECT_TRUE(actual.grad_edge_bias == expected.grad_edge_bias);
    });
  }
}

TYPED_TEST(IntervalAttentionBackward, GivesZerosToARowWithoutFiniteScores) {
  constexpr float kAbsent = -std::numeric_limits<float>::infinity();
  AttentionProblem<TypeParam> problem(complete(2), {1, 32, 32}, {.name = "", .has_bias = true});
  problem.edge_bias() = {kAbsent, kAbsent, kAbsent, 0};

  const AttentionResult<TypeParam> result = run(problem);

  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(result.grad_query[i], 0.0f);
    EXPECT_EQ(result.grad_key[i], 0.0f);
    EXPECT_EQ(result.grad_value[i], 0.0f);
  }
  for (std::size_t edge = 0; edge < 3; ++edge) EXPECT_EQ(result.grad_edge_bias[edge], 0.0f);
  expect_gradients_near_reference(problem, result);
}

// Expects that `actual` has the numbers of `expected` in the second of 3 heads, and NaN in the others.
template <typename T>
void expect_only_second_head(const std::vector<T>& actual, const std::vector<T>& expected, std::size_t size) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (i / size % 3 == 1) {
      ASSERT_EQ(actual[i], expected[i]) << i;
    } else {
      ASSERT_TRUE(std::isnan(static_cast<float>(actual[i]))) << i;
    }
  }
}

TYPED_TEST(IntervalAttentionBackward, ComputesOneHeadAndLeavesTheOthers) {
  const Relation relation = window(70, {.before = 9, .after = 4});
  const AttentionProblem<TypeParam> problem(relation, {3, 64, 64}, {.name = "", .has_bias = true, .dropout = 0.2});
  const AttentionResult<TypeParam> expected = run(problem);

  const AttentionResult<TypeParam> actual = run(problem, /*only_head=*/1);

  expect_only_second_head(actual.grad_query, expected.grad_query, 64);
  expect_only_second_head(actual.grad_key, expected.grad_key, 64);
  expect_only_second_head(actual.grad_value, expected.grad_value, 64);
  expect_only_second_head(actual.grad_edge_bias, expected.grad_edge_bias, 1);
}

}  // namespace
}  // namespace edgewise::kernels
