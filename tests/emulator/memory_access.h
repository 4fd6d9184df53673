// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// The emulator's accesses to the memory of kernels. ThreadSanitizer instruments these functions as accesses of the lane
// that calls them, and no other part of the emulator: the scheduler accesses the data of all lanes without barriers.
namespace edgewise::kernels::gpu::emulator {

/// Copies bytes, or zeros if `from` is null.
void copy_bytes(unsigned char* to, const unsigned char* from, std::size_t count);

/// Writes the bytes 0xFF, which are NaN as a float and as a BFloat16.
void fill_undefined(unsigned char* to, std::size_t count);

}  // namespace edgewise::kernels::gpu::emulator
