// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/gemm/gemm.h"

namespace edgewise::kernels::reference {

/// kernels::gemm in plain loops.
float activate(float x, GemmActivation activation);

template <typename T, typename Out>
void gemm(const Gemm<T, Out>& product);

}  // namespace edgewise::kernels::reference
