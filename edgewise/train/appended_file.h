// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include "edgewise/base/files/file_system.h"

namespace edgewise {

/// A file to which a run appends records, such as lines or events. Records that cannot be written, as on a full disk,
/// are kept in memory until the next attempt.
class AppendedFile {
 public:
  /// Opens or creates the file. Keeps its first `size` bytes and removes the rest. Throws Error when the file cannot be
  /// written, and for a path that is no regular file, such as a symbolic link or a FIFO.
  explicit AppendedFile(std::filesystem::path path, std::uint64_t size = std::numeric_limits<std::uint64_t>::max());

  /// Appends whole records. Does not throw: sync() reports errors.
  void append(std::string_view records);

  /// Returns the size of the file with all appended records, in bytes.
  std::uint64_t size() const { return synced_size_ + unsynced_.size(); }

  /// Writes all records to the disk (fsync) and returns the size of the file. Throws Error on failure. The records stay
  /// in memory until they are on the disk, because a system may drop written bytes whose fsync failed: the next attempt
  /// writes them again.
  std::uint64_t sync();

 private:
  int write_records();
  int cut();
  int sync_name();
  void check_error(int error) const;

  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t synced_size_ = 0;  // bytes of the file that are on the disk
  std::string unsynced_;           // the records after these bytes
  std::size_t written_ = 0;        // bytes of unsynced_ that are written
  bool needs_cut_ = false;         // whether the file may have other bytes after the written records
  bool is_name_synced_ = false;    // whether the folder's entry of the file is on the disk
};

}  // namespace edgewise
