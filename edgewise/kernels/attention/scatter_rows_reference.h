// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/scatter_rows.h"

namespace edgewise::kernels::reference {

/// kernels::scatter_rows in plain loops.
template <typename T>
void scatter_rows(const ScatterRows<T>& p);

}  // namespace edgewise::kernels::reference
