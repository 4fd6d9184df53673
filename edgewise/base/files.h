// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

// Errors begin with `caller`, the function that the user called: "write_model: run/config.toml: Permission denied".

namespace edgewise {

class Descriptor;

/// The whole file. Reads pipes and devices too.
std::string read_file(const std::filesystem::path& path, std::string_view caller = "read_file");

/// A file that is written bit by bit and appears in one step: whoever opens its name sees all of the old bytes, or,
/// once it is committed, all of the new. A symbolic link stays one: what it names is replaced.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path, std::string_view caller = "write_file");
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Without a commit the old file stays, and nothing else.
  ~AtomicFile();

  void write(std::string_view bytes);

  /// Brings all to the disk and under its name. Nothing can be written behind it.
  void commit();

 private:
  void check_error(int error) const;

  std::filesystem::path path_;
  std::string caller_;
  std::filesystem::path destination_;
  std::filesystem::path temporary_;
  std::unique_ptr<Descriptor> file_;  // none behind the commit
};

/// Replaces the file in one step: whoever opens it, after a power cut too, sees all of the old bytes or all of the new.
/// Upon an error the old file stays, and nothing else. A symbolic link stays one: what it names is replaced.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes,
                           std::string_view caller = "write_file");

}  // namespace edgewise
