// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "edgewise/device/memory.h"

// The limits of a launch on a GPU.
namespace edgewise::kernels::gpu {

/// The most rows of a grid (device.h) on any GPU.
inline constexpr int kMaxGridRows = 65535;

/// The most shared memory that a block has on any GPU for which there are kernels: an H100 or H200.
inline constexpr std::size_t kMaxSharedMemory = std::size_t{227} * 1024;

/// Throws std::runtime_error, in the name of a kernel, if the current GPU has less shared memory than `bytes`.
inline void check_shared_memory(const char* kernel, std::size_t bytes) {
  if (bytes <= device::max_shared_memory()) return;
  throw std::runtime_error(std::string(kernel) + ": a block of this GPU has " +
                           std::to_string(device::max_shared_memory()) + " bytes of shared memory, needs " +
                           std::to_string(bytes));
}

}  // namespace edgewise::kernels::gpu
