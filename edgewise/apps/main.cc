// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/process_limits.h"
#include "edgewise/apps/runtime/signal_handlers.h"

#ifdef EDGEWISE_TCMALLOC
#include <gperftools/malloc_extension.h>

#include <cstddef>
#include <cstdio>

#include "edgewise/base/address_space.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/unfinished_files.h"
#endif

namespace edgewise {
namespace {

// The program does two things before its libraries start, which takes a third of a second: it blocks SIGUSR1, so that
// a request to save a training waits for its handler (train_signals.h), and it leaves a working directory that was
// removed, in which MKL would end the process.

int removed_directory = -1;  // a file descriptor; -1 if the working directory exists
bool was_blocked = false;    // SIGUSR1, when the process was started

void leave_removed_directory() {
  static char path[PATH_MAX];
  if (::syscall(SYS_getcwd, path, sizeof(path)) >= 0) return;
  removed_directory = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (removed_directory >= 0 && ::chdir("/") != 0) removed_directory = -1;
}

/// Uses no library but libc.
[[maybe_unused]] void start_process() {
  was_blocked = block_signal(SIGUSR1);
  leave_removed_directory();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // a sanitizer is not ready so early
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)() = start_process;
#endif

/// Returns to the removed working directory, where relative names lead to "No such file or directory".
void return_to_removed_directory() {
  if (removed_directory < 0) return;
  // If this fails, relative names lead into the root directory; nothing there has the names of the user's files.
  if (::fchdir(removed_directory) == 0) ::close(removed_directory);
}

/// The address space that a program with tcmalloc needs before it does anything: what large blocks leave.
constexpr std::int64_t kHeapReserve = 64'000'000;

#ifdef EDGEWISE_TCMALLOC
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

/// If the process has a limit of address space, lets tcmalloc's heap leave a part of it for what cannot fail: the code
/// that oneDNN generates, stacks, and tcmalloc's own data, without which it would abort the process.
///
/// - A block above 1 MB, such as a tensor, leaves kHeapReserve; otherwise its allocation fails. In a LibraryCall, it
///   leaves as much as smaller blocks.
/// - Smaller blocks leave 16 MB. If they cannot, the process ends at once with an error and exit code 2, because its
///   libraries do not check such allocations.
void reserve_address_space() {
  if (!has_address_space_limit()) return;
  MallocExtension* heap = MallocExtension::instance();
  SysAllocator* system = heap->GetSystemAllocator();
  if (system == nullptr) return;
  heap->SetSystemAllocator(new ReservingAllocator(*system));  // exists until the process ends
}
#else
void reserve_address_space() {}
#endif

}  // namespace
}  // namespace edgewise

int main(int argc, char** argv) {
  using namespace edgewise;
  return_to_removed_directory();
  const bool trains = argc > 1 && std::string_view(argv[1]) == "train";
  if (!trains && !was_blocked) unblock_signal(SIGUSR1);  // commands that do not handle it get it as they would have
  return run_within_limits("edgewise", kHeapReserve, [&] {
    reserve_address_space();
    return run_edgewise(argc, argv);
  });
}
