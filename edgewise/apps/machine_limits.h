// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/ScalarType.h>

namespace edgewise {

/// Floating-point operations a second of the fastest matrix product of a few large ones, each repeated for a part of a
/// second: the limit that a training step is held against.
double gemm_peak(at::ScalarType dtype);

}  // namespace edgewise
