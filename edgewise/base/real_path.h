// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <system_error>

namespace edgewise {

/// Returns the absolute path without symbolic links, for a path whose last names need not exist. A link that leads
/// nowhere becomes the path of the file that the link names. Sets `error` for a loop of links.
std::filesystem::path real_path(const std::filesystem::path& path, std::error_code& error);

}  // namespace edgewise
