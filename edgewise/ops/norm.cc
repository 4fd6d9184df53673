// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/norm.h"

#include "edgewise/ops/add_norm.h"
#include "edgewise/ops/norm_arguments.h"

namespace edgewise {

at::Tensor normalise(const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M, NormKind kind,
                     double epsilon, std::optional<at::ScalarType> type) {
  const AddNormOptions options = {.kind = kind, .epsilon = epsilon, .type = type};
  check_summands("normalise", x_TM, {}, options.dropout);
  check_norm("normalise", x_TM, gain_M, bias_M, options);
  return add_norm_plain(x_TM, {}, gain_M, bias_M, options).normed_TM;
}

}  // namespace edgewise
