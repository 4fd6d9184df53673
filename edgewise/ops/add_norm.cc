// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/add_norm.h"

#include "edgewise/ops/norm_arguments.h"

namespace edgewise {

AddNorm add_norm(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                 const AddNormOptions& options) {
  check_summands("add_norm", x_TM, y_TM, options.dropout);
  check_norm("add_norm", x_TM, gain_M, bias_M, options);
  return add_norm_plain(x_TM, y_TM, gain_M, bias_M, options);
}

at::Tensor add_dropout(const at::Tensor& x_TM, const at::Tensor& y_TM, double rate, DropoutKey key) {
  check_summands("add_dropout", x_TM, y_TM, rate);
  return add_dropout_plain(x_TM, y_TM, rate, key);
}

}  // namespace edgewise
