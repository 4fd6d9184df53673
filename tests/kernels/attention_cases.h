// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/kernels/attention_problem.h"
#include "tests/kernels/near.h"

namespace edgewise::kernels {

inline std::vector<AttentionCase> attention_cases() {
  return {{.name = "plain"},
          {.name = "bias", .has_bias = true},
          {.name = "clamp", .clamp = 0.4},
          {.name = "dropout", .dropout = 0.3},
          {.name = "all", .has_bias = true, .clamp = 0.4, .dropout = 0.3, .scale = 0.7}};
}

/// Returns kTolerance<T> with another error of sums.
template <typename T>
constexpr Tolerance with_sums(double sums) {
  return {kTolerance<T>.rounding, sums};
}

/// Compares all members except AttentionResult::weight. Allows errors of sums of `sums`, and of `score_sums` in the
/// gradients of scores: of queries, keys and edge biases.
template <typename T>
void expect_outputs_and_gradients_near(const AttentionResult<T>& actual, const AttentionResult<double>& expected,
                                       double sums, double score_sums) {
  expect_near(actual.out, expected.out, "out", with_sums<T>(sums));
  expect_near(actual.log_normalizer, expected.log_normalizer, "log_normalizer");
  expect_near(actual.grad_query, expected.grad_query, "grad_query", with_sums<T>(score_sums));
  expect_near(actual.grad_key, expected.grad_key, "grad_key", with_sums<T>(score_sums));
  expect_near(actual.grad_value, expected.grad_value, "grad_value", with_sums<T>(sums));
  expect_near(actual.grad_edge_bias, expected.grad_edge_bias, "grad_edge_bias",
              with_sums<AccumulatorType<T>>(score_sums));
}

template <typename T>
void expect_all_near(const AttentionResult<T>& actual, const AttentionResult<double>& expected) {
  expect_outputs_and_gradients_near(actual, expected, kTolerance<T>.sums, kTolerance<T>.sums);
  expect_near(actual.weight, expected.weight, "weight");
}

}  // namespace edgewise::kernels
