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

/// Compares all members except AttentionResult::weight.
template <typename T>
void expect_outputs_and_gradients_near(const AttentionResult<T>& actual, const AttentionResult<double>& expected,
                                       double tolerance = kTolerance<T>,
                                       double bias_tolerance = kTolerance<AccumulatorType<T>>) {
  expect_near(actual.out, expected.out, "out", tolerance);
  expect_near(actual.log_normalizer, expected.log_normalizer, "log_normalizer");
  expect_near(actual.grad_query, expected.grad_query, "grad_query", tolerance);
  expect_near(actual.grad_key, expected.grad_key, "grad_key", tolerance);
  expect_near(actual.grad_value, expected.grad_value, "grad_value", tolerance);
  expect_near(actual.grad_edge_bias, expected.grad_edge_bias, "grad_edge_bias", bias_tolerance);
}

template <typename T>
void expect_all_near(const AttentionResult<T>& actual, const AttentionResult<double>& expected) {
  expect_outputs_and_gradients_near(actual, expected);
  expect_near(actual.weight, expected.weight, "weight");
}

}  // namespace edgewise::kernels
