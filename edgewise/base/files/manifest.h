// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/files.h"

namespace edgewise {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 20;

struct ManifestEntry {
  std::string name;
  std::uint64_t size = 0;  // bytes
  std::string sha256;      // 64 lower-case hexadecimal digits
};

/// The content of manifest.json, which lists every other file of its directory.
struct Manifest {
  std::string tool;  // the program that wrote the directory: "edgewise 0.1.0"
  std::vector<ManifestEntry> files;
};

/// Reads a directory's manifest.json, but does not check the listed files; ListedDirectory reads them.
Manifest read_manifest(const std::filesystem::path& directory, std::string_view caller = "read_manifest");

std::string manifest_text(const Manifest& manifest);

/// Parses the text of a manifest. Errors begin with `where`.
Manifest parse_manifest(std::string_view text, const std::string& where);

/// Whether a file name stays in its directory: UTF-8 of 1 to 255 bytes without slashes and control characters, and
/// neither "." nor "..".
bool is_plain_name(std::string_view name);

/// The files that a directory's manifest.json lists; other files of the directory cannot be read by this class. The
/// constructor opens all files, again if another process replaces the directory meanwhile. If the directory is replaced
/// or removed afterwards, the files are still those of one version. Errors begin with `caller`.
///
/// A symbolic link, a missing file and a name that leads out of the directory are errors.
class ListedDirectory {
 public:
  explicit ListedDirectory(const std::filesystem::path& directory, std::string_view caller);

  const Manifest& manifest() const { return manifest_; }

  /// Returns whether the manifest lists a file.
  bool has(std::string_view name) const { return files_.contains(name); }

  // Return the path of the directory, and of a file, for messages.
  std::string path() const { return directory_.string(); }
  std::string path(std::string_view name) const { return (directory_ / name).string(); }

  /// Throws Error unless the manifest lists a file.
  void require(std::string_view name) const { find(name); }

  /// Reads a file. Throws Error if the manifest does not list it, if the file has more than `max_bytes`, and if the
  /// bytes have another size or SHA-256 than the manifest says.
  std::string read(std::string_view name, std::uint64_t max_bytes) const;

  /// Compares the size and SHA-256 of every file with the manifest.
  void verify() const;

 private:
  struct File {
    ManifestEntry expected;
    RegularFile file;
  };

  const File& find(std::string_view name) const;
  void check_size(const File& file) const;
  void check_sum(const File& file, const std::string& sum) const;

  std::filesystem::path directory_;
  std::string caller_;
  Manifest manifest_;
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace edgewise
