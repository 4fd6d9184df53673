// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace edgewise::kernels::gpu::emulator {

/// Limits the shared memory of the blocks that this thread launches, as a smaller GPU does, until the object ends.
class SharedMemoryLimit {
 public:
  explicit SharedMemoryLimit(std::size_t bytes);
  SharedMemoryLimit(const SharedMemoryLimit&) = delete;
  SharedMemoryLimit& operator=(const SharedMemoryLimit&) = delete;
  ~SharedMemoryLimit();

 private:
  std::size_t before_;
};

/// Returns the limit in use, kMaxSharedMemory without a SharedMemoryLimit.
std::size_t current_shared_memory_limit();

}  // namespace edgewise::kernels::gpu::emulator
