// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "edgewise/base/directory.h"

// The text of manifests, and the names in them.

namespace edgewise {

inline constexpr std::string_view kManifestName = "manifest.json";

std::string manifest_text(const Manifest& manifest);

/// Errors begin with `where`.
Manifest parse_manifest(std::string_view text, const std::string& where);

/// Whether a name is one component that stays in its directory: not empty, no slash, neither "." nor "..", no control
/// characters, UTF-8, at most 255 bytes.
bool is_plain_name(std::string_view name);

}  // namespace edgewise
