// SPDX-License-Identifier: Apache-2.0
// The program `edgewise-server`: the command `edgewise serve` without libtorch.
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/serve/signal_pipe.h"

// Runs before the initialisers of the program and of its libraries. A sanitizer is not ready so early.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*const before_initialisers)() = edgewise::block_reload_signal;
#endif

int main(int argc, char** argv) {
  return edgewise::run_program_of_command(
      "edgewise-server", "Translate texts for clients that speak HTTP, with models that edgewise trained or imported.",
      edgewise::make_serve_command, argc, argv);
}
