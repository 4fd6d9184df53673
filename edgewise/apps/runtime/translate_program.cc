// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-translate`: the command `edgewise translate` without libtorch.
#include "edgewise/apps/runtime/translate_program.h"

#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/version.h"

namespace edgewise {

int run_edgewise_translate(int argc, char** argv) {
  CLI::App program("Translate text, one sentence per line, with a model that edgewise trained.", "edgewise-translate");
  program.set_version_flag("--version", fmt::format("edgewise-translate {}", version()));
  make_translate_command(program);
  return run_program(program, argc, argv);
}

}  // namespace edgewise
