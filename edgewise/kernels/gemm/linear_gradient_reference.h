// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/gemm/linear_gradient.h"

namespace edgewise::kernels::reference {

/// kernels::linear_gradient in plain loops.
template <typename T>
void linear_gradient(const LinearGradient<T>& gradient);

}  // namespace edgewise::kernels::reference
