// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/sparse_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/message/edge_rows.h"
#include "tests/kernels/attention_cases.h"
#include "tests/kernels/device/attention_on_device.h"
#include "tests/kernels/device/attention_results.h"
#include "tests/kernels/device/schedules.h"
#include "tests/support/device_buffer.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

// Runs both passes, and computes the weights, on problem.relation(), which has the CSR form; change(p) changes the
// arguments of forward.
template <typename T, class Change>
AttentionResult<T> run(const AttentionProblem<T>& problem, Change change) {
  const RelationView relation = problem.relation().view();
  const EdgesBySource edges = group_by_source(relation);
  const device::Buffer<EdgeIndex> edges_begin(edges.begin), edges_edge(edges.edge);
  const device::Buffer<NodeIndex> edges_destination(edges.destination);
  return run_on_device(
      problem, relation,
      [&](AttentionForward<T> p, const RelationView& on_device) {
        change(p);
        sparse_attention_forward(p, on_device, device::Stream());
      },
      [&](AttentionBackward<T> p, const RelationView& on_device) {
        change(p.forward);
        device::Buffer<char> workspace(
            static_cast<std::size_t>(sparse_backward_workspace(on_device, p.forward.num_heads)));
        sparse_attention_backward(p, on_device, {edges_begin.data(), edges_edge.data(), edges_destination.data()},
                                  workspace.data(), device::Stream());
      },
      [&](AttentionWeights<T> p, const RelationView& on_device) {
        change(p.forward);
        sparse_attention_weights(p, on_device, device::Stream());
      });
}

template <typename T>
AttentionResult<T> run(const AttentionProblem<T>& problem) {
  return run(problem, [](AttentionForward<T>& /*p*/) {});
}

// Compares with the reference in double. The reference, too, differentiates at the rounded output of `actual`, from
// which backward computes the mean gradient of a row's weights.
// Scores and log normalizers are up to about 16, in units of log2(e), and are rounded thrice in an exponent, so that
// the relative error of a weight is up to about 3 * 2^-20, and the gradients of long rows are up to 30 times their root
// mean square.
template <typename T>
void expect_near_reference(const AttentionResult<T>& actual, const AttentionProblem<T>& problem) {
  const RelationView relation = problem.relation().view();
  const AttentionResult<double> expected = AttentionProblem<double>(problem).run_with(
      [&](const AttentionForward<double>& p) { reference::attention_forward(p, relation); },
      [&](AttentionBackward<double> p) {
        std::vector<double> out(actual.out.begin(), actual.out.end());
        p.forward.out = out.data();
        reference::attention_backward(p, relation);
      },
      [&](const AttentionWeights<double>& p) { reference::attention_weights(p, relation); });
  ASSERT_EQ(actual.weight.size(), expected.weight.size());
  for (std::size_t i = 0; i < expected.weight.size(); ++i) {
    ASSERT_NEAR(actual.weight[i], expected.weight[i], 3 * 0x1p-20 * expected.weight[i] + 1e-12) << "weight " << i;
  }
  expect_outputs_and_gradients_near(actual, expected, 30 * 3 * 0x1p-20, 30 * 3 * 0x1p-20);
}

template <typename T>
class SparseAttention : public testing::Test {};
using SparseTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(SparseAttention, SparseTypes);

TYPED_TEST(SparseAttention, MatchesTheReferenceOnEveryRelation) {
  for (const auto& [name, relation] : relation_zoo()) {
    for (const AttentionCase& options : attention_cases()) {
      SCOPED_TRACE(name + ", " + options.name);
      const AttentionProblem<TypeParam> problem(relation.to_csr(), {2, 32, 32}, options);

      expect_near_reference(run(problem), problem);
    }
  }
}

TYPED_TEST(SparseAttention, GivesTheSameBitsInEverySchedule) {
  const Relation relation = random_relation(23, 19, 4, /*seed=*/1).to_csr();
  for (const AttentionSizes& sizes : {AttentionSizes{3, 8, 8}, AttentionSizes{1, 32, 24}, AttentionSizes{3, 64, 64},
                                      AttentionSizes{2, 40, 96}, AttentionSizes{1, 128, 128}}) {
    SCOPED_TRACE("sizes " + std::to_string(sizes.head_size) + ", " + std::to_string(sizes.value_size));
    const AttentionCase options = {.name = "", .has_bias = true, .dropout = 0.3, .scale = 0.2};
    const AttentionProblem<TypeParam> problem(relation, sizes, options);
    const AttentionResult<TypeParam> expected = run(problem);
    expect_near_reference(expected, problem);

    gpu::for_each_schedule([&] { expect_same_bits(run(problem), expected); });
  }
}

TYPED_TEST(SparseAttention, GivesZerosToRowsWithoutEdgesOrFiniteScores) {
  const auto problem = problem_without_edges_or_finite_scores<TypeParam>();

  const AttentionResult<TypeParam> result = run(problem);

  expect_zeros_without_edges_or_finite_scores(result);
  expect_near_reference(result, problem);
}

TYPED_TEST(SparseAttention, PropagatesNanInABiasToItsRow) {
  AttentionProblem<TypeParam> problem(complete(6).to_csr(), {1, 32, 32}, {.name = "", .has_bias = true});
  problem.edge_bias()[3 * 6 + 2] = std::numeric_limits<float>::quiet_NaN();

  const AttentionResult<TypeParam> actual = run(problem);

  for (std::size_t row = 0; row < 6; ++row) {
    EXPECT_EQ(std::isnan(actual.log_normalizer[row]), row == 3);
    EXPECT_EQ(std::isnan(static_cast<float>(actual.out[row * 32])), row == 3);
    EXPECT_EQ(std::isnan(static_cast<float>(actual.grad_query[row * 32])), row == 3);
    EXPECT_TRUE(std::isnan(static_cast<float>(actual.grad_key[row * 32])));  // each source has an edge to row 3
  }
}

TYPED_TEST(SparseAttention, ComputesOneHeadAndLeavesTheOthers) {
  const Relation relation = window(13, {.before = 2, .after = 2, .dilation = 3}).to_csr();
  const AttentionProblem<TypeParam> problem(relation, {3, 64, 64}, {.name = "", .has_bias = true, .dropout = 0.2});
  const AttentionResult<TypeParam> expected = run(problem);

  const AttentionResult<TypeParam> actual = run(problem, [](auto& p) { p.only_head = 1; });

  expect_second_head_alone(actual, expected, 64);
  expect_second_head_alone(actual.weight, expected.weight, 1);
}

}  // namespace
}  // namespace edgewise::kernels
