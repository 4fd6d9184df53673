// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace edgewise {

/// Parses the arguments, which runs the given command, and returns the exit code: 0 for success, 1 after an internal
/// error, 2 after a mistake of the user. Prints errors on standard error.
int run_program(CLI::App& program, int argc, char** argv);

// Each function adds the subcommand of its name: it declares the options, and a callback that runs the command when the
// program parses it. Commands throw Error for mistakes of the user.

/// Sets `signal_exit_code` to 128 + n when signal n ended the run.
void add_train(CLI::App& program, int& signal_exit_code);
void add_vocab(CLI::App& program);
void add_average(CLI::App& program);
void add_compare(CLI::App& program);
void add_translate(CLI::App& program);
/// Makes `command` itself the translate command.
void make_translate_command(CLI::App& command);
void add_score_pairs(CLI::App& program);
void add_inspect(CLI::App& program);
void add_score(CLI::App& program);
void add_picture(CLI::App& program);

// Subcommands of `edgewise bench`.
void add_bench_train(CLI::App& bench);
void add_bench_attention(CLI::App& bench);
void add_bench_decode(CLI::App& bench);

}  // namespace edgewise
