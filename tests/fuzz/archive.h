// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace edgewise::fuzz {

/// A folder in memory if the system has one, else in the folder for temporary files. Removed at the end of the program.
class Folder {
 public:
  explicit Folder(const std::string& name);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  const std::filesystem::path& path() const { return path_; }

  void write(const std::string& name, std::string_view bytes) const;

  /// Replaces the content by the files of an archive. Each directory gets a manifest that lists all of its files,
  /// unless the archive has one for it.
  void write_archive(std::string_view archive) const;

 private:
  std::filesystem::path path_;
};

/// Splits an archive into files. A file begins with a line "== name" or "== directory/name"; other lines are its
/// content. A last line feed is part of the content. Files with other names are left out.
std::map<std::string, std::string> split_archive(std::string_view bytes);

}  // namespace edgewise::fuzz
