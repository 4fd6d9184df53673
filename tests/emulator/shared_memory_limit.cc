// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/shared_memory_limit.h"

#include "edgewise/kernels/gpu/limits.h"

namespace edgewise::kernels::gpu::emulator {
namespace {

thread_local std::size_t limit_of_thread = kMaxSharedMemory;

}  // namespace

SharedMemoryLimit::SharedMemoryLimit(std::size_t bytes) : before_(limit_of_thread) { limit_of_thread = bytes; }

SharedMemoryLimit::~SharedMemoryLimit() { limit_of_thread = before_; }

std::size_t current_shared_memory_limit() { return limit_of_thread; }

}  // namespace edgewise::kernels::gpu::emulator
