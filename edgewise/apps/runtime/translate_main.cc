// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/process_limits.h"
#include "edgewise/apps/runtime/translate_program.h"
#include "edgewise/base/address_space.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  return run_within_limits("edgewise-translate", kReservedAddressSpace,
                           [&] { return run_edgewise_translate(argc, argv); });
}
