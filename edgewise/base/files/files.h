// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "edgewise/base/files/temporary.h"
#include "edgewise/base/files/unfinished_files.h"

// Errors begin with `caller`, the function that the user called: "write_model: run/config.toml: Permission denied".

namespace edgewise {

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

/// Throws Error if an AtomicFile of this path would be refused because another thing than a file has the path. Changes
/// nothing.
void require_replaceable(const std::filesystem::path& path, std::string_view caller);

/// A file that is written in parts and replaces the old file in one step: a reader finds the complete old file before
/// commit() and the complete new file afterwards, also after a power cut. If `path` is a symbolic link, the link stays
/// and the file that it names is replaced, or created if the link leads nowhere. The constructor removes temporary
/// files that killed processes left for the same file.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path, std::string_view caller = "write_file");
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Without a commit, removes the temporary file; the old file stays.
  ~AtomicFile();

  void write(std::string_view bytes);

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

/// Replaces a file by `bytes` with an AtomicFile. After an error the old file stays, unless only the last sync failed.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes,
                           std::string_view caller = "write_file");

}  // namespace edgewise
