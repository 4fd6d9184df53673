// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/temporary.h"
#include "edgewise/base/files/unfinished_files.h"

// Errors begin with `caller`, the function that the user called: "write_model: run/config.toml: Permission denied".

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

/// Returns the absolute path without symbolic links, for a path whose last names need not exist. A link that leads
/// nowhere becomes the path of the file that the link names. Sets `error` for a loop of links.
std::filesystem::path real_path(const std::filesystem::path& path, std::error_code& error);

// Limits of read_file: for a config, for a recorded run's attention and TensorBoard events, and for other files.
inline constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 36;
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;

/// Reads a regular file. Throws Error for a FIFO or a device, which may have no end, and for more than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::string_view caller = "read_file",
                      std::uint64_t max_bytes = kMaxFileBytes);

/// Returns whether a file, a directory or a symbolic link has the path, even a link that leads nowhere. Throws Error if
/// the system cannot tell, for example because a name is too long.
bool has_entry(const std::filesystem::path& path, std::string_view caller);

/// Returns whether a file or directory exists. Throws Error when the system cannot tell: the name is too long, symbolic
/// links form a loop, or a folder may not be read.
bool path_exists(const std::filesystem::path& path, std::string_view caller);

/// A file that is written in parts and replaces the old file in one step: a reader finds the complete old file before
/// commit() and the complete new file afterwards, also after a power cut. If `path` is a symbolic link, the link stays
/// and the file that it names is replaced, or created if the link leads nowhere. The constructor removes temporary
/// files that killed processes left for the same file.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path, std::string_view caller = "write_file");
  /// Without a commit, removes the temporary file; the old file stays.
  ~AtomicFile();

  void write(std::string_view bytes) { check_error(write_all(*file_, bytes)); }

  /// Syncs the bytes to the disk and renames the file into place. Nothing can be written afterwards.
  void commit();

 private:
  void check_error(int error) const;

  std::filesystem::path path_;
  std::string caller_;
  std::filesystem::path destination_;
  std::unique_ptr<FileDescriptor> file_;  // null after commit()
  std::optional<TemporaryPath> temporary_;
  std::optional<UnfinishedFile> registration_;  // registers `temporary_`
};

}  // namespace edgewise
