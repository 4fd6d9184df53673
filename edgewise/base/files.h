// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

// Errors begin with `caller`, the function that the user called: "write_model: run/config.toml: Permission denied".

namespace edgewise {

/// The whole file. Reads pipes and devices too.
std::string read_file(const std::filesystem::path& path, std::string_view caller = "read_file");

/// Replaces the file in one step: whoever opens it, after a power cut too, sees all of the old bytes or all of the new.
/// Upon an error the old file stays, and nothing else. A symbolic link stays one: what it names is replaced.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes,
                           std::string_view caller = "write_file");

}  // namespace edgewise
