// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-doctor`: the command `edgewise doctor` without libtorch.
#include "edgewise/apps/runtime/commands.h"

int main(int argc, char** argv) {
  return edgewise::run_program_of_command(
      "edgewise-doctor", "Describe this machine and what Edgewise will use of it, and test it in a few seconds.",
      [](CLI::App& command) { edgewise::make_doctor_command(command); }, argc, argv);
}
