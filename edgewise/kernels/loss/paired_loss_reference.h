// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/loss/paired_loss.h"

namespace edgewise::kernels::reference {

/// kernels::paired_loss in plain loops.
template <typename Gradient>
void paired_loss(const PairedLoss<Gradient>& problem);

}  // namespace edgewise::kernels::reference
