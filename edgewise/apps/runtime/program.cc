// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <exception>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/error.h"
#include "edgewise/base/nearest_name.h"

namespace edgewise {
namespace {

constexpr int kInternalError = 1;
constexpr int kUserError = 2;

/// Returns the innermost subcommand on the command line, or the program itself if there is none.
const CLI::App& innermost_command(const CLI::App& program) {
  const auto subcommands = program.get_subcommands();
  return subcommands.empty() ? program : innermost_command(*subcommands.front());
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::vector<std::string> option_and_subcommand_names(const CLI::App& program) {
  std::vector<std::string> names;
  const CLI::App& command = innermost_command(program);
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* subcommand : command.get_subcommands(nullptr)) names.push_back(subcommand->get_name());
  return names;
}

std::string describe_error(const CLI::App& program, const CLI::ParseError& error) {
  const std::string name = full_name(innermost_command(program));
  const std::vector<std::string> unknown = innermost_command(program).remaining();
  if (!unknown.empty()) {
    const std::string& word = unknown.front();
    const auto nearest = nearest_name(word, option_and_subcommand_names(program));
    return fmt::format("{}: unknown {} {}{}", name, word.starts_with("-") ? "option" : "argument", word,
                       nearest ? fmt::format("; did you mean {}?", *nearest) : "");
  }
  return fmt::format("{}: {}; see {} --help", name, error.what(), name);
}

}  // namespace

int run_program(CLI::App& program, int argc, char** argv) {
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& request) {  // --help, --version
    return program.exit(request);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}\n", describe_error(program, error));
    return kUserError;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kUserError;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: this is a mistake of ours, please report it: {}\n", program.get_name(), error.what());
    return kInternalError;
  }
}

}  // namespace edgewise
