// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/support/process.h"

namespace edgewise {

/// Starts the program `edgewise`; `arguments` begin with the command. Forks this process where a fork does the same as
/// a new process: a new process loads libtorch, which takes 0.4 s, and 0.7 s with sanitizers.
RunningProcess start_edgewise(std::vector<std::string> arguments, const ProcessOptions& options);

/// Runs the program for at most ten minutes (or exit code 128 + SIGKILL).
ProcessResult run_edgewise_briefly(const std::vector<std::string>& arguments, const ProcessOptions& options);

}  // namespace edgewise
