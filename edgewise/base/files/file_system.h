// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

// Durable writes on POSIX files. Functions return 0 or an errno value, which callers turn into an error text.

/// Owns an open file, and closes the file at the end of its scope.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor();

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

  /// Closes the file now. A network file system may report a failed write only at this point.
  int close();

 private:
  int number_;
};

/// Writes all bytes, with several system calls if necessary.
int write_all(const FileDescriptor& file, std::string_view bytes);

/// Returns whether `path` still names an open file, and not a symbolic link or another file that replaced it.
bool is_named(const FileDescriptor& file, const std::filesystem::path& path);

/// Creates a file that must not exist yet. Returns its number, or -1 and sets errno.
int create_file(const std::filesystem::path& path, unsigned permissions);

/// Creates a file that must not exist yet, and syncs its bytes to the disk. After an error the file does not exist.
int write_new_file(const std::filesystem::path& path, std::string_view bytes, unsigned permissions);

/// Syncs a directory (the list of its file names) to the disk.
int sync_directory(const std::filesystem::path& directory);

/// Swaps two directories in one step, or with three renames if the file system cannot swap. After an error neither has
/// moved. If only the third rename fails, or the process is killed before it, the old `right` stays under a temporary
/// path of `<right>.aside` (temporary.h).
int exchange(const std::filesystem::path& left, const std::filesystem::path& right);

/// Whether an error of FileSystem::exchange means that the file system cannot swap directories at all.
bool is_exchange_unsupported(int error);

/// Returns the system's text for an errno value, for example "No space left on device".
std::string error_text(int error);

}  // namespace edgewise
