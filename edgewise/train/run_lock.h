// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "edgewise/base/files/file_system.h"

namespace edgewise {

/// Prevents other processes from training in a run directory during its lifetime. Locks the file RUN/lock by flock, so
/// the lock ends with the process, and leaves the file in place. Has no effect on a file system without locks.
class RunLock {
 public:
  /// Creates a missing run directory. Throws Error, without waiting, when this or another process holds the lock.
  explicit RunLock(const std::filesystem::path& run);

 private:
  FileDescriptor file_;
};

/// Throws Error when a process trains in a run directory, which may be missing.
void require_unlocked(const std::filesystem::path& run);

}  // namespace edgewise
