// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

// The rules about what a command may replace. Each command that writes a directory or a file asks here before its work
// begins.

namespace edgewise {

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
