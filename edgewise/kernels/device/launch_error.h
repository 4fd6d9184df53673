// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise::kernels::device {

/// Returns launch_error() of device.h, for callers that are not compiled by nvcc.
const char* last_launch_error();

}  // namespace edgewise::kernels::device
