// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Models by name: `--model en-de` is the model en-de of the first folder that has it, unless a file or directory has
// the path en-de.

namespace edgewise {

/// Returns the model directory at a path: `path` itself if it has a manifest.json, or else its subdirectory best/, or
/// else last/; nothing if none of these exists.
std::optional<std::filesystem::path> model_directory(const std::filesystem::path& path, std::string_view caller);

/// Returns the folders of models that have names, in the order in which they are searched: those that the environment
/// variable EDGEWISE_MODELS lists between colons, those of the program, and /usr/share/edgewise/models.
std::vector<std::filesystem::path> model_folders();

/// Replaces the folders of the program. By default these are two folders beside the folder of the program's file:
/// share/edgewise/models, where `cmake --install` puts models, and models, as in a clone, whose program is in build/.
void set_program_model_folders(std::vector<std::filesystem::path> folders);

/// Returns the model directory of a name; nothing if no folder has it, and for a path that is no plain name
/// (base/files/manifest.h).
std::optional<std::filesystem::path> find_named_model(const std::filesystem::path& name, std::string_view caller);

/// Describes the names that exist, as the end of an error: `the name of a model in A, B, which have de-en, en-de`. A
/// program of the Python packages adds how to install models that come with this project and that no folder has.
std::string describe_model_names(std::string_view caller);

}  // namespace edgewise
