// SPDX-License-Identifier: Apache-2.0
// Replaces `new` and `delete` of the test program, and libtorch's CPU allocator during peak_allocation.
#include "tests/ops/allocation_counter.h"

#include <c10/core/CPUAllocator.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace edgewise {
namespace {

std::atomic<std::int64_t> held_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

void count(std::int64_t bytes) {
  const std::int64_t held = held_bytes.fetch_add(bytes) + bytes;
  std::int64_t peak = peak_bytes.load();
  while (held > peak && !peak_bytes.compare_exchange_weak(peak, held)) {
  }
}

void* allocate(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size) != 0) throw std::bad_alloc();
  count(static_cast<std::int64_t>(malloc_usable_size(memory)));
  return memory;
}

void release(void* memory) {
  count(-static_cast<std::int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}

// Allocates all tensors during peak_allocation.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    void* memory = size == 0 ? nullptr : edgewise::allocate(size, c10::gAlignment);
    return {memory, memory, &free_memory, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_memory; }
  void copy_data(void* to, const void* from, std::size_t size) const override { default_copy_data(to, from, size); }

 private:
  static void free_memory(void* memory) {
    if (memory != nullptr) release(memory);
  }
};

}  // namespace

std::int64_t held_allocation() { return held_bytes.load(); }

std::int64_t peak_allocation(void (*run)(void* context), void* context) {
  static CountingAllocator allocator;
  constexpr std::uint8_t kHighest = 255;
  c10::Allocator* before = c10::GetCPUAllocator();
  c10::SetCPUAllocator(&allocator, kHighest);
  const std::int64_t held_before = held_bytes.load();
  peak_bytes = held_before;
  run(context);
  c10::SetCPUAllocator(before, kHighest);
  return peak_bytes.load() - held_before;
}

}  // namespace edgewise

void* operator new(std::size_t size) { return edgewise::allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new[](std::size_t size) { return operator new(size); }
// std::stable_sort calls this one. The one of AddressSanitizer would not call the operator above.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) edgewise::release(memory);
}
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { operator delete(memory); }
