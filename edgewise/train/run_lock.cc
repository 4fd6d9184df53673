// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "lock";

FileDescriptor create_lock(const fs::path& run) {
  create_directories(run, "train");
  return open_regular_file(run / kLockFile, O_CREAT, "train");
}

void acquire(const FileDescriptor& file, const fs::path& run) {
  const bool is_held = ::flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  check(!is_held,
        "train: another process trains in {}, needs a run directory of its own; wait for that one's end, or "
        "choose another",
        run.string());
}

}  // namespace

RunLock::RunLock(const fs::path& run) : file_(create_lock(run)) { acquire(file_, run); }

void require_unlocked(const fs::path& run) {
  const FileDescriptor file(file_system().open(run / kLockFile, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0));
  if (file.is_open()) acquire(file, run);
}

}  // namespace edgewise
