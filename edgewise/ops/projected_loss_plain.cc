// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/checks.h"
#include "edgewise/ops/linear.h"
#include "edgewise/ops/projected_loss.h"

namespace edgewise {

ProjectedLoss projected_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                                   const at::Tensor& labels_T, const LossOptions& options) {
  const at::ScalarType type = parameter_type(state_TM);
  const at::Tensor weight_as_used_CM = weight_CM.to(state_TM.scalar_type()).to(type);
  const at::Tensor logits_TC = linear_plain(state_TM.to(type), weight_as_used_CM, bias_C);
  return {smoothed_loss_plain(logits_TC, labels_T, options), count_correct(logits_TC, labels_T, options)};
}

}  // namespace edgewise
