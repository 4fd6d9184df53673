// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/process_limits.h"
#include "edgewise/apps/serve/server_program.h"
#include "edgewise/base/address_space.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  return run_within_limits("edgewise-server", kReservedAddressSpace, [&] { return run_edgewise_server(argc, argv); });
}
