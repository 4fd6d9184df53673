// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/process_limits.h"
#include "edgewise/apps/serve/server_program.h"
#include "edgewise/apps/serve/signal_pipe.h"
#include "edgewise/base/address_space.h"

// Runs before the initialisers of the program and of its libraries. A sanitizer is not ready so early.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[gnu::section(".preinit_array"), gnu::used]] static void (*const before_initialisers)() = edgewise::hold_reload_signal;
#endif

int main(int argc, char** argv) {
  using namespace edgewise;
  return run_within_limits("edgewise-server", kReservedAddressSpace, [&] { return run_edgewise_server(argc, argv); });
}
