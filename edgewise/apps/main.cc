// SPDX-License-Identifier: Apache-2.0
// The program `edgewise`. Exit codes: 0 success, 1 internal error, 2 mistake of the user, 128 + n ended by signal n.
#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/version.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  CLI::App program(
      "Transformers as message passing on graphs: train them, translate with them, and draw what they compute.",
      "edgewise");
  program.set_version_flag("--version", fmt::format("edgewise {}", version()));
  program.require_subcommand(1);
  int signal_exit_code = 0;
  add_train(program, signal_exit_code);
  add_translate(program);
  add_vocab(program);
  add_average(program);
  add_compare(program);
  add_score(program);
  add_score_pairs(program);
  add_inspect(program);
  add_picture(program);
  CLI::App* bench =
      program.add_subcommand("bench", "Measure the speed of training, attention and decoding on this machine");
  bench->require_subcommand(1);
  add_bench_train(*bench);
  add_bench_attention(*bench);
  add_bench_decode(*bench);
  const int exit_code = run_program(program, argc, argv);
  return exit_code == 0 ? signal_exit_code : exit_code;
}
