// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/command_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <utility>

namespace edgewise {
namespace {

/// Returns the names that one_of() (shared_options.h) accepts.
std::vector<std::string> list_choices(CLI::Option& option) {
  std::vector<std::string> choices;
  // CLI11 has no number of validators: it throws for an index behind the last one.
  try {
    for (int index = 0;; ++index) {
      std::istringstream names(option.get_validator(index)->get_name());
      for (std::string name; names >> name;) choices.push_back(name);
    }
  } catch (const CLI::OptionNotFound&) {
    return choices;
  }
}

OptionDescription describe_option(CLI::Option& option) {
  OptionDescription description;
  for (const std::string& name : option.get_snames()) description.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) description.names.push_back("--" + name);
  if (option.get_positional()) description.positional = option.get_name(/*positional=*/true);
  if (option.get_items_expected_max() > 0) description.type = option.get_type_name();
  description.help = option.get_description();
  description.choices = list_choices(option);
  description.is_required = option.get_required();
  description.is_list = option.get_expected_max() > 1;
  return description;
}

CommandDescription describe_below(CLI::App& command, std::vector<std::string> path) {
  CommandDescription description;
  description.path = std::move(path);
  description.path.push_back(command.get_name());
  description.help = command.get_description();
  for (CLI::Option* option : command.get_options()) {
    OptionDescription described = describe_option(*option);
    (option->get_positional() ? description.positionals : description.options).push_back(std::move(described));
  }
  for (CLI::App* subcommand : command.get_subcommands(nullptr)) {
    description.subcommands.push_back(describe_below(*subcommand, description.path));
  }
  return description;
}

}  // namespace

CommandDescription describe_command(CLI::App& command) { return describe_below(command, {}); }

std::string join_path(const std::vector<std::string>& path, std::string_view separator) {
  return fmt::format("{}", fmt::join(path, separator));
}

std::string below_program(const CommandDescription& command) {
  std::string path;
  for (std::size_t i = 1; i < command.path.size(); ++i) path += " " + command.path[i];
  return path;
}

std::string summary_of(const std::string& help) { return help.substr(0, help.find(';')); }

}  // namespace edgewise
