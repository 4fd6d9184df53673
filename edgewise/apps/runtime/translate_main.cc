// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-translate`: `edgewise translate` without libtorch.
#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/program.h"
#include "edgewise/base/version.h"
#include "edgewise/translate/runtime_scorers.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  CLI::App program("Translate text, a sentence a line, with a model that edgewise trained.", "edgewise-translate");
  program.set_version_flag("--version", fmt::format("edgewise-translate {}", version()));
  int exit_code = 0;
  declare_translate(program, open_runtime_scorers, exit_code);
  return run_program(program, argc, argv, exit_code);
}
