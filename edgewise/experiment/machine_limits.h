// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/nn/module.h"

namespace edgewise {

/// Floating-point operations a second of the fastest of a few large matrix products, each repeated for a part of a
/// second: the limit that a training step is held against.
double gemm_peak(Precision precision);

/// Bytes a second that all threads read and write together while they copy more than caches hold.
double memory_bandwidth();

}  // namespace edgewise
