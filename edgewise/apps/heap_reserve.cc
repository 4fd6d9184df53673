// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/heap_reserve.h"

#include <fmt/format.h>
#include <gperftools/malloc_extension.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/address_space.h"
#include "edgewise/base/unfinished_files.h"

namespace edgewise {
namespace {

constexpr std::int64_t kSmallReserve = 16'000'000;
constexpr std::size_t kSmallBlocks = 1 << 20;  // tcmalloc takes so much from the system for small blocks
constexpr std::size_t kHeapAlignment = 4096;   // tcmalloc aligns its own data to less

[[noreturn]] void end_without_memory(std::int64_t left) {
  remove_unfinished_files();
  std::array<char, 200> text;  // a string would need memory
  const auto end = fmt::format_to_n(
      text.data(), text.size(),
      "edgewise: memory ran out: {} MB of address space are left, needs at least {} MB; raise the limit (ulimit -v)\n",
      left / 1'000'000, kSmallReserve / 1'000'000);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), std::min(end.size, text.size()));
  ::_exit(kUserErrorExitCode);
}

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
        if (size < kSmallBlocks) end_without_memory(left);
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
