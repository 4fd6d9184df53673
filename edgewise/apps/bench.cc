// SPDX-License-Identifier: Apache-2.0
// edgewise bench WHAT: how fast this machine does what the program is for.
#include "edgewise/apps/runtime/commands.h"

namespace edgewise {

void add_bench(CLI::App& program, int& exit_code) {
  CLI::App* bench = program.add_subcommand("bench", "Measure how fast this machine trains, attends and translates");
  bench->require_subcommand(1);
  add_bench_train(*bench, exit_code);
  add_bench_attention(*bench, exit_code);
  add_bench_decode(*bench, exit_code);
}

}  // namespace edgewise
