// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "edgewise/base/files/embedded_file.h"

namespace edgewise {

/// Returns the files of edgewise/text/sentences/abbreviations/, in ascending order of their names.
std::span<const EmbeddedFile> abbreviation_files();

}  // namespace edgewise
