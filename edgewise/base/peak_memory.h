// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// Returns the peak resident memory of this process in bytes (VmHWM of Linux). Throws Error if the system has no VmHWM.
std::int64_t peak_memory();

}  // namespace edgewise
