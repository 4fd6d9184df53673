// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/device/memory.h"

#include <cstring>
#include <new>

#include "edgewise/kernels/device/emulator/recording.h"

namespace edgewise::kernels::device {

void* allocate_memory(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{256}); }
void free_memory(void* memory) { ::operator delete (memory, std::align_val_t{256}); }

void copy_memory_to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void copy_memory_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void* allocate_host_memory(std::size_t bytes) { return allocate_memory(bytes); }
void free_host_memory(void* memory) { free_memory(memory); }

void begin_copy(void* to, const void* from, std::size_t bytes, Stream /*stream*/) {
  emulator::run_or_record([=] { copy_memory_to_device(to, from, bytes); });
}

void use_gpu(std::int64_t /*number*/) {}
Stream create_stream() { return {}; }
void destroy_stream(Stream /*stream*/) {}
void wait_for(Stream /*stream*/) {}

}  // namespace edgewise::kernels::device
