// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

// Errors begin with `caller`, the function that the user called: "write_model: run/config.toml: Permission denied".

namespace edgewise {

class FileDescriptor;

/// Reads the whole file; `path` may be a pipe or a device too.
std::string read_file(const std::filesystem::path& path, std::string_view caller = "read_file");

/// A file that is written in parts and replaces the old file in one step: a reader finds the complete old file before
/// commit() and the complete new file afterwards, also after a power cut. If `path` is a symbolic link, the link stays
/// and the file that it names is replaced.
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
  std::filesystem::path temporary_;
  std::unique_ptr<FileDescriptor> file_;  // null after commit()
};

/// Replaces a file by `bytes` with an AtomicFile. After an error the old file stays, unless only the last sync failed.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes,
                           std::string_view caller = "write_file");

}  // namespace edgewise
