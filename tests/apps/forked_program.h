// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/support/process.h"

namespace edgewise {

/// Runs a command of the program `edgewise` that reads models or text, for at most a minute, in a forked process of the
/// test: for tests of hundreds of processes, because starting the program loads libtorch, which takes a quarter of a
/// second. `arguments` begin with the command.
ProcessResult run_forked(const std::vector<std::string>& arguments, const ProcessOptions& options);

}  // namespace edgewise
