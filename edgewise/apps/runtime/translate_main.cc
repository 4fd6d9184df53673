// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-translate`: the command `edgewise translate` without libtorch.
#include "edgewise/apps/runtime/commands.h"

int main(int argc, char** argv) {
  return edgewise::run_program_of_command("edgewise-translate",
                                          "Translate text, one sentence per line, with a model that edgewise trained.",
                                          edgewise::make_translate_command, argc, argv);
}
