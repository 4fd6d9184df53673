// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string_view>

// The system calls that bring files to the disk, in one place. Whatever writes makes them through file_system(), so
// that a test can have any of them fail and see that nothing is lost.

namespace edgewise {

/// Each call as the system has it: -1 and errno when it fails.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual int open(const std::filesystem::path& path, int flags, unsigned permissions);
  virtual ssize_t write(int file, std::string_view bytes);
  virtual int truncate(int file, std::uint64_t size);
  virtual int sync(int file);
  virtual int close(int file);
  virtual int make_directory(const std::filesystem::path& path);
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
  /// Swaps two files or directories in one step.
  virtual int exchange(const std::filesystem::path& left, const std::filesystem::path& right);
  virtual int remove(const std::filesystem::path& file);
  /// Removes a directory and what is in it; whatever cannot be removed stays.
  virtual void remove_all(const std::filesystem::path& directory);

  /// What can still be written where a path is; the largest number where the system does not say.
  virtual std::uint64_t free_bytes(const std::filesystem::path& path);
};

/// The system's own, unless it is replaced.
FileSystem& file_system();

/// As long as it lives, file_system() is another one, in all threads: for tests.
class ReplacedFileSystem {
 public:
  explicit ReplacedFileSystem(FileSystem& replacement);
  ReplacedFileSystem(const ReplacedFileSystem&) = delete;
  ReplacedFileSystem& operator=(const ReplacedFileSystem&) = delete;
  ~ReplacedFileSystem();
};

}  // namespace edgewise
