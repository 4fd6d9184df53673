// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "edgewise/base/directory.h"

// What directory.cc needs besides its header's names.

namespace edgewise {

inline constexpr std::string_view kManifestName = "manifest.json";

std::string manifest_text(const Manifest& manifest);

/// Whether a name is one component that stays in its directory: not empty, no slash, neither "." nor "..", no control
/// characters, UTF-8, at most 255 bytes.
bool is_plain_name(std::string_view name);

}  // namespace edgewise
