// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/heap_reserve.h"

#include <gperftools/malloc_extension.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

#include "edgewise/base/address_space.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/temporary.h"

namespace edgewise {
namespace {

constexpr std::int64_t kSmallReserve = 16'000'000;
constexpr std::size_t kSmallBlocks = 1 << 20;  // tcmalloc takes so much from the system for small blocks
constexpr std::size_t kHeapAlignment = 4096;   // tcmalloc aligns its own data to less

/// Uses no heap, and no library but libc.
[[noreturn]] void end_without_memory(std::int64_t left, std::int64_t needed) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  ::dprintf(STDERR_FILENO,
            "edgewise: memory ran out: %d MB of address space are left, needs at least %d MB; raise the limit (ulimit "
            "-v)\n",
            static_cast<int>(left / kMegabyte), static_cast<int>(needed / kMegabyte));
  ::_exit(kUserErrorExitCode);
}

/// Runs before the initialisers of libtorch, whose failed allocations would end the process by a signal.
void require_memory_of_initialisers() {
  constexpr std::int64_t kInitialisers = 64'000'000;
  const std::int64_t left = address_space_left();
  if (left < kHeapReserve + kInitialisers) end_without_memory(left, kHeapReserve + kInitialisers);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const before_initialisers)() = require_memory_of_initialisers;

class ReservingAllocator : public SysAllocator {
 public:
  explicit ReservingAllocator(SysAllocator& system) : system_(system) {}

  void* Alloc(std::size_t size, std::size_t* actual_size, std::size_t alignment) override {
    if (alignment >= kHeapAlignment) {
      const bool is_small = size <= kSmallBlocks;
      const std::int64_t reserve = is_small || LibraryCall::is_running() ? kSmallReserve : kHeapReserve;
      const std::int64_t left = address_space_left();
      if (left - static_cast<std::int64_t>(size) < reserve) {
        // tcmalloc first asks for kSmallBlocks, and then for what the block needs.
        if (size < kSmallBlocks) {
          remove_unfinished_files();
          end_without_memory(left, kSmallReserve);
        }
        return nullptr;
      }
    }
    return system_.Alloc(size, actual_size, alignment);
  }

 private:
  SysAllocator& system_;
};

}  // namespace

void reserve_address_space() {
  if (!has_address_space_limit()) return;
  MallocExtension* heap = MallocExtension::instance();
  SysAllocator* system = heap->GetSystemAllocator();
  if (system == nullptr) return;
  heap->SetSystemAllocator(new ReservingAllocator(*system));  // exists until the process ends
}

}  // namespace edgewise
