// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace edgewise {

struct GradientCheckOptions {
  double step = 1e-6;                // central differences: (f(x + step) - f(x - step)) / (2 step)
  double absolute_tolerance = 1e-6;  // |analytic - numeric| <= absolute + relative * |numeric|
  double relative_tolerance = 1e-4;
};

using TensorFunction = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// Expects that the gradients of `f` from autograd match central finite differences, for each element of each input,
/// and that two backward passes give the same bits. The output may have any shape: a fixed random projection maps the
/// output to a number.
///
///     expect_gradients_match([&](const auto& x) { return attend(causal(4), x[0], x[1], x[2]); }, {query, key, value});
///
/// Inputs are fp64 and may be non-contiguous, but no two elements may share memory. An input that `f` does not use has
/// a gradient of zero. Failures report input, index and both values.
void expect_gradients_match(const TensorFunction& f, std::vector<at::Tensor> inputs,
                            const GradientCheckOptions& options = {});

}  // namespace edgewise
