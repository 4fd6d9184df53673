// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_descriptor.h"

namespace edgewise {

/// The system does not read a file that may well be undamaged: an I/O error, a missing permission, too many open files.
class UnreadableFile : public Error {
 public:
  using Error::Error;
};

/// A limit of RegularFile::read and read_file: the memory that is available at the call.
inline constexpr std::uint64_t kAvailableMemory = std::numeric_limits<std::uint64_t>::max();

/// Whether opening a path follows a symbolic link at its end, or the link is an error.
enum class SymbolicLinks { kFollowed, kRefused };

/// A regular file that is open for reading. Opening and reading never wait for another program: a directory, FIFO,
/// socket or device is an error. Errors begin with `caller`; UnreadableFile is thrown for errors of the system, except
/// for a path that does not exist.
class RegularFile {
 public:
  RegularFile(const std::filesystem::path& path, std::string_view caller,
              SymbolicLinks links = SymbolicLinks::kFollowed);

  /// Opens `folder / name` by the descriptor of the open folder, so that the file is found even if the folder has been
  /// moved since. A symbolic link is an error.
  RegularFile(const FileDescriptor& open_folder, const std::filesystem::path& folder, std::string_view name,
              std::string_view caller);

  /// Returns the size at the time of opening, in bytes. Files of /proc have size 0.
  std::uint64_t size() const { return size_; }

  const std::filesystem::path& path() const { return path_; }

  /// Reads the whole file. Throws Error if the file has more than `max_bytes`, or has become shorter since it was
  /// opened.
  std::string read(std::uint64_t max_bytes) const;

  /// Returns the bytes from `begin` to `end`, or to the end of the file if it is shorter.
  std::string read_range(std::uint64_t begin, std::uint64_t end) const;

  /// Passes the bytes to `take`, chunk by chunk, at most size() of them.
  void for_each_chunk(const std::function<void(std::string_view)>& take) const;

 private:
  struct OpenResult;

  RegularFile(OpenResult opened, const std::filesystem::path& path, std::string_view caller);
  std::size_t read_at(std::uint64_t offset, std::span<char> buffer) const;
  [[noreturn]] void fail_to_read(int error) const;

  std::filesystem::path path_;
  std::string caller_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

/// Opens a regular file for writing; `flags` are further flags of open(), such as O_CREAT. Opening never waits for
/// another program: a symbolic link, directory, FIFO, socket or device is an Error that begins with `caller`.
FileDescriptor open_regular_file(const std::filesystem::path& path, int flags, std::string_view caller);

}  // namespace edgewise
