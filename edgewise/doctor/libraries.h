// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace edgewise {

struct LibraryVersion {
  std::string name;
  std::string version;
};

/// Returns the versions of the libraries that translating uses: of the loaded library where it tells its version, else
/// of the one that the build found.
std::vector<LibraryVersion> library_versions();

}  // namespace edgewise
