// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/memory_access.h"

namespace edgewise::kernels::gpu::emulator {

void copy_bytes(unsigned char* to, const unsigned char* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from == nullptr ? 0 : from[i];
}

void fill_undefined(unsigned char* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = 0xFF;
}

}  // namespace edgewise::kernels::gpu::emulator
