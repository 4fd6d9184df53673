// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-translate`: the command `edgewise translate` without libtorch.
#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/process_limits.h"
#include "edgewise/base/address_space.h"
#include "edgewise/base/version.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  return run_within_limits("edgewise-translate", kReservedAddressSpace, [&] {
    CLI::App program("Translate text, one sentence per line, with a model that edgewise trained.",
                     "edgewise-translate");
    program.set_version_flag("--version", fmt::format("edgewise-translate {}", version()));
    make_translate_command(program);
    return run_program(program, argc, argv);
  });
}
