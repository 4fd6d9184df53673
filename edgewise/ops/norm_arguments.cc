// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/norm_arguments.h"

#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"

namespace edgewise {
namespace {

void check_feature_parameter(std::string_view function, std::string_view name, const at::Tensor& parameter_M,
                             const at::Tensor& x_TM) {
  check_parameter(function, name, parameter_M, "x", x_TM);
  const std::int64_t size = x_TM.size(-1);
  check(parameter_M.dim() == 1 && parameter_M.size(0) == size,
        "{}: {} is {}, but x has {} features, needs one number per feature", function, name, shape_text(parameter_M),
        size);
}

}  // namespace

void check_summands(std::string_view function, const at::Tensor& x_TM, const at::Tensor& y_TM, double dropout) {
  check_floating_point(function, "x", x_TM);
  check_dropout_rate(function, "dropout", dropout);
  if (!y_TM.defined()) return;
  check_floating_point(function, "y", y_TM);
  check(y_TM.sizes() == x_TM.sizes(), "{}: y is {} but x is {}, needs the same shape", function, shape_text(y_TM),
        shape_text(x_TM));
  const bool is_narrower = x_TM.scalar_type() == at::kFloat && y_TM.scalar_type() == at::kBFloat16;
  if (!is_narrower) check_same_type(function, "y", y_TM, "x", x_TM);
  check_same_device(function, "y", y_TM, "x", x_TM);
}

void check_norm(std::string_view function, const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                const AddNormOptions& options) {
  check(x_TM.dim() >= 1, "{}: x has no dimensions, needs at least one: features", function);
  check_feature_parameter(function, "gain", gain_M, x_TM);
  check_feature_parameter(function, "bias", bias_M, x_TM);
  check(options.epsilon >= 0.0, "{}: epsilon is {}, needs at least 0", function, options.epsilon);
  check(options.kind != NormKind::kStdNorm || x_TM.size(-1) != 1,
        "{}: x has 1 feature, but kStdNorm needs at least 2; its deviation is over n - 1", function);
  const at::ScalarType type = options.type.value_or(x_TM.scalar_type());
  check(type == parameter_type(x_TM) || (type == at::kBFloat16 && parameter_type(x_TM) == at::kFloat),
        "{}: type is {}, but x has type {}, needs {}", function, at::toString(type), at::toString(x_TM.scalar_type()),
        parameter_type(x_TM) == at::kDouble ? "Double" : "Float or BFloat16");
}

}  // namespace edgewise
