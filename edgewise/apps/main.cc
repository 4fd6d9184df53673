// SPDX-License-Identifier: Apache-2.0
// The program `edgewise`. Exit codes: 0 all went well, 1 a mistake of ours, 2 a mistake of the user's, 128 + n ended by
// signal n.
#include <fmt/format.h>

#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "edgewise/apps/commands.h"
#include "edgewise/apps/transformer_scorers.h"
#include "edgewise/base/error.h"
#include "edgewise/base/nearest_name.h"
#include "edgewise/base/version.h"

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

int run(int argc, char** argv) {
  CLI::App program("Transformers as message passing on graphs: train them, translate with them, look inside them.",
                   "edgewise");
  program.set_version_flag("--version", fmt::format("edgewise {}", version()));
  program.require_subcommand(1);
  int exit_code = 0;
  add_train(program, exit_code);
  add_translate(program, open_transformer_scorers, exit_code);
  add_average(program, exit_code);
  add_score(program, exit_code);
  add_score_pairs(program, open_transformer_scorers, exit_code);
  add_inspect(program, exit_code);
  add_bench(program, exit_code);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return program.exit(wanted);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}\n", explain(program, error));
    return kUsersMistake;
  }
  return exit_code;
}

}  // namespace
}  // namespace edgewise

int main(int argc, char** argv) {
  try {
    return edgewise::run(argc, argv);
  } catch (const edgewise::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return edgewise::kUsersMistake;
  } catch (const std::exception& error) {
    fmt::print(stderr, "edgewise: this is a mistake of ours, please report it: {}\n", error.what());
    return edgewise::kOurMistake;
  }
}
