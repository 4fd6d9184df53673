// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"

namespace edgewise {

/// Replaces a file by `bytes` with an AtomicFile.
inline void write_file_atomically(const std::filesystem::path& path, std::string_view bytes,
                                  std::string_view caller = "write_file") {
  AtomicFile file(path, caller);
  file.write(bytes);
  file.commit();
}

/// Compares the size and SHA-256 of every file that a directory's manifest.json lists, and returns the manifest.
inline Manifest verify_manifest(const std::filesystem::path& directory, std::string_view caller = "verify_manifest") {
  const ListedDirectory files(directory, caller);
  files.verify();
  return files.manifest();
}

}  // namespace edgewise
