// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "edgewise/base/files/embedded_file.h"

namespace edgewise {

/// Returns the files that the server sends: openapi.json.
std::span<const EmbeddedFile> server_files();

/// Returns the files of the folder page/, in ascending order of their names.
std::span<const EmbeddedFile> server_page_files();

}  // namespace edgewise
