// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/device/device.h"
#include "edgewise/kernels/device/launch_error.h"

namespace edgewise::kernels::device {

const char* last_launch_error() { return launch_error(); }

}  // namespace edgewise::kernels::device
