// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

// The system calls that write files, and the call that reads them. Writers and readers make these calls through
// file_system(), so that a test can let each call fail and check that no data is lost.

namespace edgewise {

/// System calls with their usual results: -1 and errno after a failure.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual int open(const std::filesystem::path& path, int flags, unsigned permissions);
  virtual ssize_t write(int file, std::string_view bytes);
  virtual ssize_t read_at(int file, std::uint64_t offset, std::span<char> buffer);
  virtual int truncate(int file, std::uint64_t size);
  virtual int sync(int file);
  virtual int close(int file);
  virtual int make_directory(const std::filesystem::path& path);
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
  /// Swaps two files or directories in one step.
  virtual int exchange(const std::filesystem::path& left, const std::filesystem::path& right);
  virtual int remove(const std::filesystem::path& file);
  /// Removes a directory and its content. Files that cannot be removed stay.
  virtual void remove_all(const std::filesystem::path& directory);

  /// Returns the bytes that are free on the path's file system, or the largest number if they are unknown.
  virtual std::uint64_t free_bytes(const std::filesystem::path& path);
};

/// Returns the file system in use: the real one, unless a ScopedFileSystem replaces it.
FileSystem& file_system();

/// Replaces file_system() in all threads until the end of its scope. For tests.
class ScopedFileSystem {
 public:
  explicit ScopedFileSystem(FileSystem& replacement);
  ScopedFileSystem(const ScopedFileSystem&) = delete;
  ScopedFileSystem& operator=(const ScopedFileSystem&) = delete;
  ~ScopedFileSystem();
};

}  // namespace edgewise
