// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

// Models by name: `--model en-de` is the model en-de of the first folder that has it, unless a file or directory has
// the path en-de.

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

// The rules about what a command may replace. Each command that writes a directory or a file asks here before its work
// begins.

/// Whether a command replaces a directory that exists.
enum class Overwrite { kNo, kYes };

/// Throws Error, beginning with `caller`, if a directory may not be written: if it is one of `inputs` or holds one of
/// them, and, without Overwrite::kYes, if it exists and is not empty. A directory that no program of Edgewise wrote is
/// never replaced (DirectoryWriter). `inputs` are the files and directories that the command reads; the name of a model
/// stands for its directory, and a run for its directory and that of its model. Inputs that do not exist are skipped.
void check_output_directory(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs,
                            Overwrite overwrite, std::string_view caller);

/// Throws Error, beginning with `caller`, if a file may not be written: if it is one of `inputs`, where "-" is standard
/// input, if standard output or standard error goes to it, and if it belongs to a model or run directory. Any other
/// file is replaced.
void check_output_file(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs,
                       std::string_view caller);

}  // namespace edgewise
