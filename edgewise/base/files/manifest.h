// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

/// Reads a directory's manifest.json, but does not check the listed files; listed_directory.h reads them.
Manifest read_manifest(const std::filesystem::path& directory, std::string_view caller = "read_manifest");

std::string manifest_text(const Manifest& manifest);

/// Parses the text of a manifest. Errors begin with `where`.
Manifest parse_manifest(std::string_view text, const std::string& where);

/// Whether a file name stays in its directory: UTF-8 of 1 to 255 bytes without slashes and control characters, and
/// neither "." nor "..".
bool is_plain_name(std::string_view name);

}  // namespace edgewise
