// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// Returns the bytes that `new` has allocated and that are not freed.
std::int64_t held_allocation();

/// Calls `run` and returns its peak memory of tensors and `new`, in bytes, beyond the memory held before the call.
std::int64_t peak_allocation(void (*run)(void* context), void* context);

template <class Run>
std::int64_t peak_allocation(Run run) {
  return peak_allocation([](void* context) { (*static_cast<Run*>(context))(); }, &run);
}

}  // namespace edgewise
