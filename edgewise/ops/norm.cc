// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>

#include <cmath>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"

namespace edgewise {
namespace {

void check_arguments(const at::Tensor& x_Td, const at::Tensor& gain_d, const at::Tensor& bias_d, double epsilon) {
  check_computable("normalise", "x", x_Td);
  check(x_Td.dim() >= 1, "normalise: x has no dimensions, but at least one is needed: features");
  const std::int64_t size = x_Td.size(-1);
  for (const auto& [name, parameter] : {std::pair{"gain", gain_d}, std::pair{"bias", bias_d}}) {
    check_computable("normalise", name, parameter);
    check_same_type("normalise", name, parameter, "x", x_Td);
    check(parameter.dim() == 1 && parameter.size(0) == size,
          "normalise: {} is {}, but x has {} features; one number per feature is needed", name, shape_text(parameter),
          size);
  }
  check(epsilon >= 0.0, "normalise: epsilon is {}, but at least 0 is needed", epsilon);
}

at::Tensor std_norm(const at::Tensor& x_Td, const at::Tensor& gain_d, const at::Tensor& bias_d, double epsilon) {
  check(x_Td.size(-1) != 1, "normalise: x has 1 feature, but kStdNorm needs at least 2; its deviation is over n - 1");
  const at::Tensor centred_Td = x_Td - x_Td.mean(-1, /*keepdim=*/true);
  // Not std(), which prints a warning where there are no rows. Unlike a square root, norm() has a gradient at zero.
  const at::Tensor deviation_T1 =
      centred_Td.norm(2, {-1}, /*keepdim=*/true) / std::sqrt(static_cast<double>(x_Td.size(-1) - 1));
  return gain_d * (centred_Td / (deviation_T1 + epsilon)) + bias_d;
}

}  // namespace

at::Tensor normalise(const at::Tensor& x_Td, const at::Tensor& gain_d, const at::Tensor& bias_d, NormKind kind,
                     double epsilon) {
  check_arguments(x_Td, gain_d, bias_d, epsilon);
  switch (kind) {
    case NormKind::kLayerNorm:
      return at::layer_norm(x_Td, {x_Td.size(-1)}, gain_d, bias_d, epsilon);
    case NormKind::kStdNorm:
      return std_norm(x_Td, gain_d, bias_d, epsilon);
  }
  fail("normalise: kind is {}, which is no norm", static_cast<int>(kind));
}

}  // namespace edgewise
