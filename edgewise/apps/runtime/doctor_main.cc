// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-doctor`: the command `edgewise doctor` without libtorch.
#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/process_limits.h"
#include "edgewise/base/address_space.h"
#include "edgewise/base/version.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  return run_within_limits("edgewise-doctor", kReservedAddressSpace, [&] {
    CLI::App program("Describe this machine and what Edgewise will use of it, and test it in a few seconds.",
                     "edgewise-doctor");
    program.set_version_flag("--version", fmt::format("edgewise-doctor {}", version()));
    make_doctor_command(program);
    return run_program(program, argc, argv);
  });
}
