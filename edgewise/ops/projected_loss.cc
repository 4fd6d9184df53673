// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/projected_loss.h"

#include "edgewise/ops/checks.h"

namespace edgewise {

ProjectedLoss projected_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                             const at::Tensor& labels_T, const LossOptions& options) {
  check_dimensions("projected_loss", "state", state_TM, 2, "tokens, size");
  check_projection("projected_loss", "state", state_TM, weight_CM, bias_C);
  return projected_loss_plain(state_TM, weight_CM, bias_C, labels_T, options);
}

}  // namespace edgewise
