// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include "edgewise/nn/module.h"

namespace edgewise {

/// Waits until a GPU has computed all that was begun; does nothing for the CPU.
void synchronize(at::Device device);

/// Measures the floating-point operations per second of large matrix products: the upper limit for a training step. On
/// the CPU, of the fastest of three products, each repeated for 0.3 s; on a GPU, of products of libtorch.
double measure_gemm_peak(Precision precision, at::Device device);

/// Measures memory bandwidth: the bytes per second that a device reads and writes while it copies 256 MiB with all
/// threads, or 1 GiB on a GPU. Both exceed the caches.
double measure_memory_bandwidth(at::Device device);

}  // namespace edgewise
