// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/fill_new_tensors.h"
#include "tests/support/test_device.h"

namespace edgewise {

using Tensors = std::vector<at::Tensor>;

/// Draws standard normal numbers, on test_device(); shape and seed determine them.
inline at::Tensor normal(at::IntArrayRef sizes, std::uint64_t seed, at::ScalarType type = at::kDouble) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble).to(test_device(), type);
}

/// Returns the tolerance for sums of a few hundred numbers: a few times their rounding error. For bf16, sums are
/// accumulated in fp32, and the tolerance covers rounding the result and the expected value to 8 bits.
inline double tolerance(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return 0x1p-7;
    case at::kFloat:
      return 2e-5;
    default:
      return 1e-12;
  }
}

/// Expects that each element differs by at most `allowed` times itself or times the root mean square of `expected`: the
/// rounding error of a sum grows with its terms, which may cancel in one element, but not in all. To this is added the
/// error of accumulating terms of size 1 in fp32, which is all that is left where every element cancels, as in the
/// gradient of a query with one key; and `rounding`, for functions whose terms may be far larger than their sum.
inline void expect_close(const at::Tensor& actual, const at::Tensor& expected, const std::string& name, double allowed,
                         double rounding = 0) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << name;
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type()) << name;
  if (actual.numel() == 0) return;
  const at::Tensor size = expected.to(at::kDouble).abs();
  const at::Tensor scale = size.square().mean().sqrt();
  const double accumulation = std::min(allowed, tolerance(at::kFloat));
  const at::Tensor excess = (actual.to(at::kDouble) - expected.to(at::kDouble)).abs() -
                            allowed * at::maximum(size, scale) - accumulation - rounding;
  ASSERT_FALSE(excess.isnan().any().item<bool>()) << name << " is not a number somewhere";
  const std::int64_t worst = excess.argmax().item<std::int64_t>();
  ASSERT_LE(excess.max().item<double>(), 0)
      << name << ", element " << worst << ": " << actual.reshape(-1)[worst].item<double>()
      << " where the definition has " << expected.reshape(-1)[worst].item<double>() << " and a root mean square of "
      << scale.item<double>();
}

inline void expect_close(const at::Tensor& actual, const at::Tensor& expected, const std::string& name) {
  expect_close(actual, expected, name, tolerance(expected.scalar_type()));
}

/// Names the results of output_and_gradients.
inline std::string result_name(std::size_t i) {
  return i == 0 ? "output" : "gradient of input " + std::to_string(i - 1);
}

/// Returns the gradient of an output in output_and_gradients: fixed random numbers.
inline at::Tensor gradient_of_output(at::IntArrayRef sizes, at::ScalarType type = at::kDouble) {
  return normal(sizes, /*seed=*/99, type);
}

/// Returns the output of `f`, and the gradients of a fixed random projection of the output in all inputs. On the CPU,
/// new tensors hold NaN, so that a comparison finds numbers that `f` does not write.
inline Tensors output_and_gradients(const std::function<at::Tensor(const Tensors&)>& f, const Tensors& inputs) {
  std::optional<FillNewTensorsWithNan> fill;
  if (test_device() == at::kCPU) fill.emplace();
  Tensors leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().requires_grad_());
  Tensors result = {f(leaves)};
  const at::Tensor projected = (result[0] * gradient_of_output(result[0].sizes(), result[0].scalar_type())).sum();
  for (const at::Tensor& gradient : torch::autograd::grad({projected}, leaves)) result.push_back(gradient);
  return result;
}

/// Expects that two functions have the same output and gradients, within the tolerance for the first input's type.
inline void expect_same_function(const std::function<at::Tensor(const Tensors&)>& actual,
                                 const std::function<at::Tensor(const Tensors&)>& expected, const Tensors& inputs) {
  const auto actual_tensors = output_and_gradients(actual, inputs);
  const auto expected_tensors = output_and_gradients(expected, inputs);
  for (std::size_t i = 0; i < expected_tensors.size(); ++i) {
    expect_close(actual_tensors[i], expected_tensors[i], result_name(i), tolerance(inputs[0].scalar_type()));
  }
}

}  // namespace edgewise
