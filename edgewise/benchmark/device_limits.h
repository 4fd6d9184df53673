// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include "edgewise/nn/module.h"

namespace edgewise {

/// Waits until a GPU has computed all that was begun; does nothing for the CPU.
void synchronize(at::Device device);

/// Does on a GPU what measure_gemm_peak() (machine_limits.h) does on the CPU, with products of libtorch.
double measure_gemm_peak(Precision precision, at::Device device);

/// Measures the memory bandwidth of a GPU: the bytes per second that it reads and writes while it copies 1 GiB.
double measure_memory_bandwidth(at::Device device);

}  // namespace edgewise
