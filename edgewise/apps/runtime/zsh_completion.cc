// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/apps/runtime/completion.h"

namespace edgewise::detail {
namespace {

/// Escapes a text that stands in single quotes and in a specification of _arguments or _describe.
std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'') {
      escaped += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string function_of(const CommandDescription& command) { return "_" + join_path(command.path, "_"); }

/// Returns the action that completes a value.
std::string action_of(const OptionDescription& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  return option.is_number() ? "" : "_files";
}

/// Writes the specification of an option for each of its names; one name of an option excludes the others.
std::string option_lines(const OptionDescription& option) {
  std::string lines;
  for (const std::string& name : option.names) {
    const std::string before = option.is_list ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    const bool is_long = name.starts_with("--");
    std::string line = before + name + (option.is_flag() ? "" : is_long ? "=" : "+");
    line += fmt::format("[{}]", escape(summary_of(option.help)));
    if (!option.is_flag()) line += fmt::format(":{}:{}", option.type, action_of(option));
    lines += fmt::format(" \\\n    '{}'", line);
  }
  return lines;
}

std::string positional_line(const OptionDescription& positional) {
  return fmt::format(" \\\n    '{}:{}:{}'",
                     positional.is_list       ? "*"
                     : positional.is_required ? ""
                                              : ":",
                     escape(positional.positional), action_of(positional));
}

std::string options_of(const CommandDescription& command) {
  std::string lines;
  for (const OptionDescription& option : command.options) lines += option_lines(option);
  return lines;
}

/// Writes the function of a command, and those of its subcommands behind it.
std::string functions_of(const CommandDescription& command) {
  std::string text = fmt::format("{}() {{\n", function_of(command));
  if (command.subcommands.empty()) {
    text += "  _arguments -s" + options_of(command);
    for (const OptionDescription& positional : command.positionals) text += positional_line(positional);
    return text + "\n}\n";
  }
  text += "  local context state state_descr line\n  typeset -A opt_args\n  _arguments -C -s" + options_of(command);
  text += " \\\n    '1: :->subcommand' \\\n    '*:: :->arguments'\n  case $state in\n    subcommand)\n";
  text += "      local -a subcommands=(\n";
  for (const CommandDescription& subcommand : command.subcommands) {
    text += fmt::format("        '{}:{}'\n", subcommand.name(), escape(subcommand.help));
  }
  text += "      )\n      _describe subcommand subcommands\n      ;;\n    arguments)\n      case $line[1] in\n";
  for (const CommandDescription& subcommand : command.subcommands) {
    text += fmt::format("        {}) {} ;;\n", subcommand.name(), function_of(subcommand));
  }
  text += "      esac\n      ;;\n  esac\n}\n";
  for (const CommandDescription& subcommand : command.subcommands) text += functions_of(subcommand);
  return text;
}

}  // namespace

// The file is a function of zsh's fpath; it may also be sourced.
std::string zsh_completion(const CommandDescription& program) {
  const std::string function = function_of(program);
  return fmt::format(
      "#compdef {}\n# Completes the arguments of {} in zsh.\n{}\nif [ \"$funcstack[1]\" = \"{}\" ]; then\n  {} "
      "\"$@\"\nelse\n  compdef {} {}\nfi\n",
      program.name(), program.name(), functions_of(program), function, function, function, program.name());
}

}  // namespace edgewise::detail
