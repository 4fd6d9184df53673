// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/dropout/dropout.h"

// Dropout and conversion of types on GPUs. All pointers are to memory of the device, at multiples of 16 bytes. From and
// To are float or BFloat16.
namespace edgewise::kernels {

/// Begins dropout() in `stream`. The results have the bits of the CPU, except that every NaN of BFloat16 may be another
/// NaN. A count that is a multiple of 4 is fastest.
template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out, device::Stream stream);

/// Begins to convert values to another type.
template <typename From, typename To>
void cast(std::int64_t count, const From* in, To* out, device::Stream stream) {
  dropout(Dropout{.rate = 0.0}, count, in, out, stream);
}

}  // namespace edgewise::kernels
