// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/loss/softmax_loss.h"

namespace edgewise::kernels::reference {

/// kernels::softmax_loss in plain loops.
template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& problem);

}  // namespace edgewise::kernels::reference
