// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAStream.h>

#include "edgewise/ops/gpu_kernels.h"

namespace edgewise {

device::Stream current_stream(at::Device device) { return {c10::cuda::getCurrentCUDAStream(device.index()).stream()}; }

}  // namespace edgewise
