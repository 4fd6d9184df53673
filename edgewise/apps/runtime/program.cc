// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/program.h"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/nearest_name.h"

namespace edgewise {
namespace {

constexpr int kOurMistake = 1;
constexpr int kUsersMistake = 2;

/// The innermost subcommand that was given, or the program itself: whose options an error is about.
const CLI::App& asked_for(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  return chosen.empty() ? program : asked_for(*chosen.front());
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::vector<std::string> known_words(const CLI::App& program) {
  std::vector<std::string> words;
  const CLI::App& command = asked_for(program);
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  for (const CLI::App* subcommand : command.get_subcommands(nullptr)) words.push_back(subcommand->get_name());
  return words;
}

std::string explain(const CLI::App& program, const CLI::ParseError& error) {
  const std::string name = full_name(asked_for(program));
  const std::vector<std::string> unknown = asked_for(program).remaining();
  if (!unknown.empty()) {
    const std::string& word = unknown.front();
    const auto nearest = nearest_name(word, known_words(program));
    return fmt::format("{}: unknown {} {}{}", name, word.starts_with("-") ? "option" : "argument", word,
                       nearest ? fmt::format("; did you mean {}?", *nearest) : "");
  }
  return fmt::format("{}: {}; see {} --help", name, error.what(), name);
}

}  // namespace

int run_program(CLI::App& program, int argc, char** argv, const int& exit_code) {
  try {
    program.parse(argc, argv);
    return exit_code;
  } catch (const CLI::Success& wanted) {  // --help, --version
    return program.exit(wanted);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}\n", explain(program, error));
    return kUsersMistake;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kUsersMistake;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: this is a mistake of ours, please report it: {}\n", program.get_name(), error.what());
    return kOurMistake;
  }
}

}  // namespace edgewise
