// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-doctor`: the command `edgewise doctor` without libtorch.
#include "edgewise/apps/runtime/doctor_program.h"

#include <fmt/format.h>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/version.h"

namespace edgewise {

int run_edgewise_doctor(int argc, char** argv) {
  CLI::App program("Describe this machine and what Edgewise will use of it, and test it in a few seconds.",
                   "edgewise-doctor");
  program.set_version_flag("--version", fmt::format("edgewise-doctor {}", version()));
  make_doctor_command(program);
  return run_program(program, argc, argv);
}

}  // namespace edgewise
