// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace edgewise {

/// Parses the arguments and so runs what was asked for, whose result `exit_code` is for. Says what went wrong on
/// standard error. Returns 0 where all went well, 1 for a mistake of ours, 2 for a mistake of the user's.
int run_program(CLI::App& program, int argc, char** argv, const int& exit_code);

}  // namespace edgewise
