// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/kernels/attention_problem.h"
#include "tests/kernels/random_numbers.h"

// Compares results of kernels of attention, for the tests of several kernels.
namespace edgewise::kernels {

/// Results that no kernel has computed are NaN.
template <typename T>
void expect_same_bits(const AttentionResult<T>& actual, const AttentionResult<T>& expected) {
  EXPECT_TRUE(has_same_bits(actual.out, expected.out));
  EXPECT_TRUE(has_same_bits(actual.log_normalizer, expected.log_normalizer));
  EXPECT_TRUE(has_same_bits(actual.weight, expected.weight));
  EXPECT_TRUE(has_same_bits(actual.grad_query, expected.grad_query));
  EXPECT_TRUE(has_same_bits(actual.grad_key, expected.grad_key));
  EXPECT_TRUE(has_same_bits(actual.grad_value, expected.grad_value));
  EXPECT_TRUE(has_same_bits(actual.grad_edge_bias, expected.grad_edge_bias));
}

/// Returns a problem of 3 rows and one head of size 32: row 0 has no edges, all scores of row 1 are -inf, and row 2 has
/// one score of -inf.
template <typename T>
AttentionProblem<T> problem_without_edges_or_finite_scores() {
  constexpr float kAbsent = -std::numeric_limits<float>::infinity();
  const Relation relation = keep_rows(complete(3).to_csr(), std::vector<NodeIndex>{1, 2}).to_csr();
  AttentionProblem<T> problem(relation, {1, 32, 32}, {.name = "", .has_bias = true});
  problem.edge_bias() = {kAbsent, kAbsent, kAbsent, 0, kAbsent, 0};
  return problem;
}

/// Expects zeros in the first two rows of problem_without_edges_or_finite_scores().
template <typename T>
void expect_zeros_without_edges_or_finite_scores(const AttentionResult<T>& result) {
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(result.log_normalizer[row], -std::numeric_limits<float>::infinity());
    for (std::size_t i = row * 32; i < (row + 1) * 32; ++i) {
      EXPECT_EQ(result.out[i], 0.0f);
      EXPECT_EQ(result.grad_query[i], 0.0f);
    }
  }
}

/// Expects that `actual` has the numbers of `expected` in the second of 3 heads, and NaN in the others.
template <typename T>
void expect_second_head_alone(const std::vector<T>& actual, const std::vector<T>& expected, std::size_t size) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (i / size % 3 == 1) {
      ASSERT_EQ(actual[i], expected[i]) << i;
    } else {
      ASSERT_TRUE(std::isnan(static_cast<float>(actual[i]))) << i;
    }
  }
}

/// Does not compare AttentionResult::weight. The heads of query and value have `size` components.
template <typename T>
void expect_second_head_alone(const AttentionResult<T>& actual, const AttentionResult<T>& expected, std::size_t size) {
  expect_second_head_alone(actual.out, expected.out, size);
  expect_second_head_alone(actual.log_normalizer, expected.log_normalizer, 1);
  expect_second_head_alone(actual.grad_query, expected.grad_query, size);
  expect_second_head_alone(actual.grad_key, expected.grad_key, size);
  expect_second_head_alone(actual.grad_value, expected.grad_value, size);
  expect_second_head_alone(actual.grad_edge_bias, expected.grad_edge_bias, 1);
}

}  // namespace edgewise::kernels
