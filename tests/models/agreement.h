// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "tests/nn/tensors.h"

namespace edgewise {

inline constexpr double kTolerance = 1e-9;

/// Returns the gradients of all parameters of a randomly weighted sum of `output`.
template <class Model>
std::vector<at::Tensor> gradients(const Model& model, const at::Tensor& output) {
  std::vector<at::Tensor> leaves;
  for (const NamedTensor& named : parameters(model)) leaves.push_back(named.tensor);
  const at::Tensor number = (output * random_tensor(output.sizes(), 99)).sum();
  return torch::autograd::grad({number}, leaves, /*grad_outputs=*/{}, /*retain_graph=*/true, /*create_graph=*/false,
                               /*allow_unused=*/true);
}

/// Expects equal outputs and equal gradients of all parameters.
template <class Model>
void expect_same(const Model& model, const at::Tensor& actual, const at::Tensor& expected) {
  expect_close(actual, expected, kTolerance);
  const std::vector<NamedTensor> named = parameters(model);
  const std::vector<at::Tensor> actual_gradients = gradients(model, actual);
  const std::vector<at::Tensor> expected_gradients = gradients(model, expected);
  int used = 0;
  for (std::size_t i = 0; i < named.size(); ++i) {
    SCOPED_TRACE(named[i].name);
    const auto or_zeros = [&](const at::Tensor& g) { return g.defined() ? g : at::zeros_like(named[i].tensor); };
    expect_close(or_zeros(actual_gradients[i]), or_zeros(expected_gradients[i]), kTolerance);
    if (expected_gradients[i].defined()) ++used;
  }
  EXPECT_GT(used, 0);
}

}  // namespace edgewise
