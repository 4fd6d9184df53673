// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace edgewise {

/// A file that the build writes into the program (cmake/embed.cmake).
struct EmbeddedFile {
  std::string_view name;  // without folders
  std::string_view text;
};

}  // namespace edgewise
