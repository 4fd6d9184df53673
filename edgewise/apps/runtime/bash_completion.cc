// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/completion.h"

namespace edgewise::detail {
namespace {

// COMP_WORDBREAKS splits --option=value into three words.
constexpr std::string_view kScript = R"(# Completes the arguments of {program} in bash.
{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}} path= i
  if [[ $word == = ]]; then
    word=
  elif [[ $option == = ]]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {paths}) path+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  COMPREPLY=()
  case "$path:$option" in
{values}  esac
  local names=
  case "$path" in
{names}  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
    return
  fi
  case "$path" in
{subcommands}    *)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      ;;
  esac
}}
complete -F {function} {program}
)";

std::string words_of(const std::vector<std::string>& words) {
  return fmt::format("mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$word\")", fmt::join(words, " "));
}

/// The parts of the script, to which each command of the program adds lines.
struct Parts {
  std::vector<std::string> paths;  // patterns of all subcommands
  std::string values, names, subcommands;

  void add(const CommandDescription& command) {
    const std::string path = below_program(command);
    std::vector<std::string> all_names;
    for (const OptionDescription& option : command.options) {
      all_names.insert(all_names.end(), option.names.begin(), option.names.end());
      if (!option.is_flag()) add_values(path, option);
    }
    names += fmt::format("    \"{}\") names=\"{}\" ;;\n", path, fmt::join(all_names, " "));
    if (!command.subcommands.empty()) {
      std::vector<std::string> words;
      for (const CommandDescription& subcommand : command.subcommands) words.push_back(subcommand.name());
      subcommands += fmt::format("    \"{}\") {} ;;\n", path, words_of(words));
    }
    for (const CommandDescription& subcommand : command.subcommands) {
      paths.push_back("\"" + below_program(subcommand) + "\"");
      add(subcommand);
    }
  }

  void add_values(const std::string& path, const OptionDescription& option) {
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(fmt::format("\"{}:{}\"", path, name));
    std::string action = "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); ";
    if (option.is_number()) action = "";
    if (!option.choices.empty()) action = words_of(option.choices) + "; ";
    values += fmt::format("    {}) {}return ;;\n", fmt::join(patterns, " | "), action);
  }
};

}  // namespace

std::string bash_completion(const CommandDescription& program) {
  Parts parts;
  parts.add(program);
  if (parts.paths.empty()) parts.paths.emplace_back("\"\"");
  std::string function = "_" + program.name();
  std::ranges::replace(function, '-', '_');
  return fmt::format(kScript, fmt::arg("program", program.name()), fmt::arg("function", function),
                     fmt::arg("paths", fmt::join(parts.paths, " | ")), fmt::arg("values", parts.values),
                     fmt::arg("names", parts.names), fmt::arg("subcommands", parts.subcommands));
}

}  // namespace edgewise::detail
