// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/archive.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "edgewise/base/files/manifest.h"
#include "edgewise/base/sha256.h"
#include "tests/support/memory_folder.h"

namespace edgewise::fuzz {
namespace {

namespace fs = std::filesystem;

/// Returns the name of a file's directory with a slash, or "" for a file outside a directory.
std::string_view directory_of(std::string_view name) { return name.substr(0, name.find('/') + 1); }

bool is_accepted(std::string_view name) {
  const std::string_view directory = directory_of(name);
  const bool has_directory = directory.empty() || is_plain_name(directory.substr(0, directory.size() - 1));
  return has_directory && is_plain_name(name.substr(directory.size()));
}

}  // namespace

Folder::Folder(const std::string& name)
    : path_(memory_folder() / ("edgewise-fuzz-" + name + "-" + std::to_string(::getpid()))) {
  fs::create_directories(path_);
}

Folder::~Folder() { fs::remove_all(path_); }

void Folder::write(const std::string& name, std::string_view bytes) const {
  std::ofstream(path_ / name, std::ios::binary) << bytes;
}

void Folder::write_archive(std::string_view archive) const {
  for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path());
  auto files = split_archive(archive);
  std::map<std::string, Manifest> manifests = {{"", {}}};
  for (const auto& [name, content] : files) {
    const std::string directory(directory_of(name));
    manifests[directory].files.push_back({name.substr(directory.size()), content.size(), sha256(content)});
  }
  for (const auto& [directory, manifest] : manifests) {
    fs::create_directories(path_ / directory);
    files.emplace(directory + std::string(kManifestName), manifest_text(manifest));
  }
  for (const auto& [name, content] : files) write(name, content);
}

std::map<std::string, std::string> split_archive(std::string_view bytes) {
  constexpr std::string_view kMark = "== ";
  constexpr std::size_t kMaxFiles = 20;
  std::map<std::string, std::string> files;
  std::string* file = nullptr;
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    const std::string_view line = bytes.substr(0, size);
    if (line.starts_with(kMark)) {
      const std::string name(line.substr(kMark.size(), line.size() - kMark.size() - 1));
      file = is_accepted(name) && files.size() < kMaxFiles ? &files[name] : nullptr;
    } else if (file != nullptr) {
      *file += line;
    }
    bytes.remove_prefix(size);
  }
  return files;
}

}  // namespace edgewise::fuzz
