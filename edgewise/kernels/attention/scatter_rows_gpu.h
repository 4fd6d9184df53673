// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/device/stream.h"
#include "edgewise/kernels/attention/scatter_rows.h"

namespace edgewise::kernels {

/// Begins scatter_rows() in `stream`. All pointers are to memory of the device. p.from and the rows p.to[r] are
/// multiples of 16 bytes. It is fastest if the columns, the stride and the offset are multiples of 4. The results have
/// the bits of the CPU, except that every NaN of BFloat16 may be another NaN.
template <typename T>
void scatter_rows(const ScatterRows<T>& p, device::Stream stream);

}  // namespace edgewise::kernels
