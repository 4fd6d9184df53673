// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>

#include <cmath>

#include "edgewise/ops/add_norm.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout.h"

namespace edgewise {
namespace {

at::Tensor compute_divisor(const at::Tensor& centred_TM, const AddNormOptions& options) {
  if (options.kind == NormKind::kLayerNorm) {
    return (centred_TM.square().mean(-1, /*keepdim=*/true) + options.epsilon).sqrt();
  }
  // norm() has a gradient at 0, unlike a square root. std() would print a warning for a tensor without rows.
  const at::Tensor length_T1 = centred_TM.norm(2, {-1}, /*keepdim=*/true);
  return length_T1 / std::sqrt(static_cast<double>(centred_TM.size(-1) - 1)) + options.epsilon;
}

}  // namespace

AddNorm add_norm_plain(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M,
                       const at::Tensor& bias_M, const AddNormOptions& options) {
  const at::Tensor sum_TM = y_TM.defined() ? add_dropout_plain(x_TM, y_TM, options.dropout, options.dropout_key) : x_TM;
  const at::Tensor wide_TM = sum_TM.to(gain_M.scalar_type());
  const at::Tensor centred_TM = wide_TM - wide_TM.mean(-1, /*keepdim=*/true);
  const at::Tensor normed_TM = centred_TM / compute_divisor(centred_TM, options) * gain_M + bias_M;
  return {sum_TM, normed_TM.to(options.type.value_or(x_TM.scalar_type()))};
}

at::Tensor add_dropout_plain(const at::Tensor& x_TM, const at::Tensor& y_TM, double rate, DropoutKey key) {
  const at::ScalarType wide = parameter_type(x_TM);
  return (x_TM.to(wide) + dropout(y_TM.to(wide), rate, key)).to(x_TM.scalar_type());
}

}  // namespace edgewise
