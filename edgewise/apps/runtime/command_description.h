// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// An option or a positional argument of a command.
struct OptionDescription {
  std::vector<std::string> names;  // with their dashes, such as -o and --out; empty for a positional argument
  std::string positional;          // the name of a positional argument
  std::string type;                // NUMBER or TEXT; empty for a flag
  std::string help;
  std::vector<std::string> choices;  // all values, if they have names
  bool is_required = false;
  bool is_list = false;  // whether several values may follow

  bool is_flag() const { return type.empty(); }
  bool is_number() const { return type == "NUMBER"; }
};

/// A command with everything that its help texts say. Manual pages and completions are made of this description, so
/// that they have the options that the program has.
struct CommandDescription {
  std::vector<std::string> path;  // the name of the program, and those of the subcommands below it
  std::string help;
  std::vector<OptionDescription> positionals;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> subcommands;

  const std::string& name() const { return path.back(); }
};

CommandDescription describe_command(CLI::App& command);

/// Returns the words of a path with a separator between them.
std::string join_path(const std::vector<std::string>& path, std::string_view separator);

/// Returns the subcommands of a path, each behind a space: " picture graph".
std::string below_program(const CommandDescription& command);

/// Returns a help text up to its first semicolon, behind which are defaults and ranges.
std::string summary_of(const std::string& help);

}  // namespace edgewise
