// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-server`: the command `edgewise serve` without libtorch.
#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/process_limits.h"
#include "edgewise/base/address_space.h"
#include "edgewise/base/version.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  return run_within_limits("edgewise-server", kReservedAddressSpace, [&] {
    CLI::App program("Translate texts for clients that speak HTTP, with models that edgewise trained or imported.",
                     "edgewise-server");
    program.set_version_flag("--version", fmt::format("edgewise-server {}", version()));
    make_serve_command(program);
    return run_program(program, argc, argv);
  });
}
