// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "edgewise/apps/runtime/command_description.h"
#include "edgewise/base/fields.h"

namespace edgewise {

enum class Shell { kBash, kZsh, kFish };

inline constexpr auto enum_names(Shell) {
  return std::array{EnumName{Shell::kBash, "bash"}, EnumName{Shell::kZsh, "zsh"}, EnumName{Shell::kFish, "fish"}};
}

/// Writes a script that completes subcommands, options, their named values and names of files.
std::string completion(Shell shell, const CommandDescription& program);

namespace detail {
std::string bash_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);
std::string fish_completion(const CommandDescription& program);
}  // namespace detail

}  // namespace edgewise
