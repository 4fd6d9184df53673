// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "edgewise/apps/runtime/open_translator.h"

namespace edgewise {

// One subcommand a file: declares its options on the program, and runs, once they are read, with the exit code as its
// result. Throws Error for the user's mistakes.
void add_train(CLI::App& program, int& exit_code);
void add_vocab(CLI::App& program, int& exit_code);
void add_average(CLI::App& program, int& exit_code);
void add_compare(CLI::App& program, int& exit_code);
void add_translate(CLI::App& program, const OpenScorers& open_scorers, int& exit_code);
/// The same options on a command of another name.
void declare_translate(CLI::App& command, const OpenScorers& open_scorers, int& exit_code);
void add_score_pairs(CLI::App& program, const OpenScorers& open_scorers, int& exit_code);
void add_inspect(CLI::App& program, int& exit_code);
void add_score(CLI::App& program, int& exit_code);
void add_bench(CLI::App& program, int& exit_code);
void add_picture(CLI::App& program, int& exit_code);

// Subcommands of `edgewise bench`.
void add_bench_train(CLI::App& bench, int& exit_code);
void add_bench_attention(CLI::App& bench, int& exit_code);
void add_bench_decode(CLI::App& bench, int& exit_code);

// Subcommands of `edgewise picture`.
void add_picture_attention(CLI::App& picture, int& exit_code);
void add_picture_report(CLI::App& picture, int& exit_code);
void add_picture_graph(CLI::App& picture, int& exit_code);
void add_picture_training(CLI::App& picture, int& exit_code);
void add_picture_halting(CLI::App& picture, int& exit_code);
void add_picture_positions(CLI::App& picture, int& exit_code);

}  // namespace edgewise
