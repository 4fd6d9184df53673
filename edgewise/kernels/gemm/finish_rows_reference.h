// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/gemm/finish_rows.h"

// The definition of finish_rows.h in plain loops.
namespace edgewise::kernels::reference {

template <typename T>
void finish_rows(const FinishRows<T>& p);

}  // namespace edgewise::kernels::reference
