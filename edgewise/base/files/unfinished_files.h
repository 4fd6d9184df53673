// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>

namespace edgewise {

/// Registers a temporary file that this process writes, or a temporary directory of files, until the end of its scope.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::filesystem::path& path);
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();

 private:
  std::atomic<char*>& name_;
};

/// Removes all registered files and directories, also while other threads write into them. Only for a signal handler
/// that then ends the process: async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace edgewise
