// SPDX-License-Identifier: Apache-2.0
#include "edgewise/device/memory.h"

#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "tests/emulator/emulator.h"
#include "tests/emulator/recording.h"
#include "tests/emulator/shared_memory_limit.h"

namespace edgewise::device {

namespace emulator = kernels::gpu::emulator;

namespace {

constexpr std::align_val_t kAlignment{256};
constexpr std::size_t kMemoryOfGpu = std::size_t{1} << 40;

// The memory that copies may use.
class Allocations {
 public:
  void add(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_[static_cast<const std::byte*>(memory)] = bytes;
  }

  void remove(const void* memory) {
    const std::lock_guard lock(mutex_);
    sizes_.erase(static_cast<const std::byte*>(memory));
  }

  void check(const void* memory, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto* const begin = static_cast<const std::byte*>(memory);
    auto after = sizes_.upper_bound(begin);
    if (after == sizes_.begin() || begin + bytes > std::prev(after)->first + std::prev(after)->second) {
      throw emulator::KernelFault(
          "begin_copy: the memory is neither of allocate_memory() nor of allocate_host_memory(), needs to be one of "
          "them");
    }
  }

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> sizes_;
};

// Is never destroyed, because memory may be freed when the process ends.
Allocations& allocations() {
  static auto& all = *new Allocations;
  return all;
}

}  // namespace

Platform platform() { return Platform::kEmulator; }

void* allocate_memory(std::size_t bytes, Stream /*stream*/) {
  if (bytes > kMemoryOfGpu) throw std::bad_alloc();
  void* const memory = ::operator new(bytes, kAlignment);
  allocations().add(memory, bytes);
  return memory;
}

void free_memory(void* memory, Stream /*stream*/) {
  allocations().remove(memory);
  ::operator delete(memory, kAlignment);
}

void* allocate_host_memory(std::size_t bytes) { return allocate_memory(bytes, {}); }
void free_host_memory(void* memory) { free_memory(memory, {}); }

void begin_copy(void* to, const void* from, std::size_t bytes, Stream /*stream*/) {
  if (bytes == 0) return;
  allocations().check(to, bytes);
  allocations().check(from, bytes);
  emulator::run_or_record([=] { std::memcpy(to, from, bytes); });
}

void use_gpu(std::int64_t /*number*/) {}
std::size_t max_shared_memory() { return emulator::current_shared_memory_limit(); }
Stream create_stream() { return {}; }
void destroy_stream(Stream /*stream*/) {}
void wait_for(Stream /*stream*/) {}

}  // namespace edgewise::device
