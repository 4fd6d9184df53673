// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// Memory of the device, for code that nvcc does not compile. The emulator's is memory of the host.
namespace edgewise::kernels::device {

/// Returns memory that is aligned to 256 bytes, and that free_memory() frees. Throws std::exception if there is none.
void* allocate_memory(std::size_t bytes);
void free_memory(void* memory);

/// Copies between the host and the device, and waits for all kernels of the device before. Throws std::runtime_error if
/// one of these kernels failed.
void copy_memory_to_device(void* to, const void* from, std::size_t bytes);
void copy_memory_to_host(void* to, const void* from, std::size_t bytes);

}  // namespace edgewise::kernels::device
