// SPDX-License-Identifier: Apache-2.0
// The program `edgewise`. Exit codes: 0 all went well, 1 a mistake of ours, 2 a mistake of the user's, 128 + n ended by
// signal n.
#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/program.h"
#include "edgewise/base/version.h"
#include "edgewise/translate/runtime_scorers.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  CLI::App program("Transformers as message passing on graphs: train them, translate with them, look inside them.",
                   "edgewise");
  program.set_version_flag("--version", fmt::format("edgewise {}", version()));
  program.require_subcommand(1);
  int exit_code = 0;
  add_train(program, exit_code);
  add_translate(program, open_runtime_scorers, exit_code);
  add_vocab(program, exit_code);
  add_average(program, exit_code);
  add_compare(program, exit_code);
  add_score(program, exit_code);
  add_score_pairs(program, open_runtime_scorers, exit_code);
  add_inspect(program, exit_code);
  add_picture(program, exit_code);
  add_bench(program, exit_code);
  return run_program(program, argc, argv, exit_code);
}
