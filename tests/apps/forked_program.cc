// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/forked_program.h"

#include <CLI/CLI.hpp>

#include "edgewise/apps/runtime/commands.h"
#include "tests/apps/alterations.h"

namespace edgewise {
namespace {

int run_command(std::vector<std::string> arguments) {
  CLI::App program("", "edgewise");
  program.require_subcommand(1);
  for (const auto add :
       {add_average, add_compare, add_export, add_import, add_inspect, add_score, add_score_pairs, add_vocab}) {
    add(program);
  }
  arguments.insert(arguments.begin(), "edgewise");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return run_program(program, static_cast<int>(argv.size()), argv.data());
}

}  // namespace

ProcessResult run_forked(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return wait_briefly(RunningProcess([&arguments] { return run_command(arguments); }, options));
}

}  // namespace edgewise
