// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/gpu_kernels.h"

namespace edgewise {

device::Stream current_stream(at::Device /*device*/) { return {}; }

}  // namespace edgewise
