// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/nn/module.h"

namespace edgewise {

/// Measures the floating-point operations per second of the fastest of three large matrix products, each repeated for
/// 0.3 s: the upper limit for a training step.
double measure_gemm_peak(Precision precision);

/// Measures memory bandwidth: the bytes per second that all threads together read and write while they copy 256 MiB,
/// which exceeds the caches.
double measure_memory_bandwidth();

}  // namespace edgewise
