// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/files/directory.h"
#include "tests/support/error_of.h"

namespace edgewise {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A new folder that is removed with its content at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "edgewise-test-XXXXXX").string();
    check(::mkdtemp(pattern.data()) != nullptr, "mkdtemp: {} cannot be made", pattern);
    path_ = std::filesystem::canonical(pattern);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Writes a directory of two files.
inline void write_model(const std::filesystem::path& target, const std::string& weights) {
  DirectoryWriter writer(target, "write_model");
  writer.write("config.toml", "heads = 1\n");
  writer.write("model.safetensors", weights);
  writer.commit();
}

/// Returns the names in a folder, sorted and joined by spaces.
inline std::string names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace edgewise
