// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-server`: the command `edgewise serve` without libtorch.
#include "edgewise/apps/serve/server_program.h"

#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/version.h"

namespace edgewise {

int run_edgewise_server(int argc, char** argv) {
  CLI::App program("Translate texts for clients that speak HTTP, with models that edgewise trained or imported.",
                   "edgewise-server");
  program.set_version_flag("--version", fmt::format("edgewise-server {}", version()));
  make_serve_command(program);
  return run_program(program, argc, argv);
}

}  // namespace edgewise
