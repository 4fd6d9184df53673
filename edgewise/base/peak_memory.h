// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// Bytes that this process has had in memory at most (VmHWM of Linux). Throws Error where the system does not say.
std::int64_t peak_memory();

}  // namespace edgewise
