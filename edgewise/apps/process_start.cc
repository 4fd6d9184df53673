// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/process_start.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "edgewise/apps/runtime/signal_handlers.h"

namespace edgewise {
namespace {

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

}  // namespace

void stop_blocking_requests() {
  if (!was_blocked) unblock_signal(SIGUSR1);
}

void return_to_removed_directory() {
  if (removed_directory < 0) return;
  // If this fails, relative names lead into the root directory; nothing there has the names of the user's files.
  if (::fchdir(removed_directory) == 0) ::close(removed_directory);
  removed_directory = -1;
}

}  // namespace edgewise
