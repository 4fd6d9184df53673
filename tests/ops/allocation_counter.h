// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// The most memory that `run` held at once, beyond what was held before it, in bytes: what tensors and `new` take.
std::int64_t peak_allocation(void (*run)(void* context), void* context);

template <class Run>
std::int64_t peak_allocation(Run run) {
  return peak_allocation([](void* context) { (*static_cast<Run*>(context))(); }, &run);
}

}  // namespace edgewise
