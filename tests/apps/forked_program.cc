// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/forked_program.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "edgewise/apps/runtime/commands.h"
#include "tests/apps/alterations.h"

namespace edgewise {
namespace {

/// `train --processes` runs its own file again, which is the test program after a fork.
bool runs_itself(const std::vector<std::string>& arguments) {
  return std::ranges::find(arguments, "--processes") != arguments.end();
}

bool has_one_thread() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}) == 1; }

int run_command(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return run_edgewise(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

RunningProcess start_edgewise(std::vector<std::string> arguments, const ProcessOptions& options) {
  arguments.insert(arguments.begin(), EDGEWISE_PROGRAM);
  // The libraries read their variables when they are loaded, and expect their threads to exist.
  if (!options.environment.empty() || !has_one_thread() || runs_itself(arguments))
    return RunningProcess(arguments, options);
  return RunningProcess([&arguments] { return run_command(arguments); }, options);
}

ProcessResult run_edgewise_briefly(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return wait_or_kill(start_edgewise(arguments, options));
}

}  // namespace edgewise
