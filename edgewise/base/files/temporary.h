// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "edgewise/base/files/file_system.h"

// Temporary files and directories beside the target that they will replace: `.<target>.tmp-<pid>-<n>`. Patterns of a
// shell, such as `step-*`, leave out names that begin with a dot. A process that is killed leaves its temporary files
// behind. The process that writes one holds a lock on it (flock), which the kernel releases when the process ends in
// any way; a leftover is a temporary path that nobody holds a lock on. A process number does not show whether the
// writer still runs: the system reuses numbers, and another container that shares the folder has its own.

namespace edgewise {

/// Creates a temporary path and holds its lock.
class TemporaryPath {
 public:
  /// Calls `create` with one path after another until it returns another errno value than EEXIST; 0 is success.
  TemporaryPath(const std::filesystem::path& target, const std::function<int(const std::filesystem::path&)>& create);

  const std::filesystem::path& path() const { return path_; }

  /// Returns the errno value of the last call of `create`.
  int error() const { return error_; }

 private:
  std::filesystem::path path_;
  int error_ = 0;
  FileDescriptor lock_{-1};
};

/// The end of the target's name for a directory that is moved aside in order to replace it.
inline constexpr std::string_view kAside = ".aside";

/// Holds the lock of a file or directory, which may be renamed meanwhile, so that it is no leftover.
FileDescriptor lock_against_removal(const std::filesystem::path& path);

/// Returns a temporary path of a target that does not exist.
std::filesystem::path unused_temporary_path(const std::filesystem::path& target);

/// A temporary path without a writer.
struct Leftover {
  std::filesystem::path path;
  std::filesystem::path target;
};

/// Calls `take` with each leftover of a folder whose target's name is `target_name`, or of each target if this name is
/// empty. Meanwhile no writer can begin to use the path.
void for_each_leftover(const std::filesystem::path& folder, const std::string& target_name,
                       const std::function<void(const Leftover&)>& take);

/// Removes the leftovers of a target that are regular files.
void remove_leftover_files(const std::filesystem::path& target);

}  // namespace edgewise
