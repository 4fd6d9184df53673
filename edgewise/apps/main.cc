// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/heap_reserve.h"
#include "edgewise/apps/program.h"
#include "edgewise/apps/runtime/process_limits.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  return run_within_limits("edgewise", kHeapReserve, [&] {
#ifdef EDGEWISE_TCMALLOC
    reserve_address_space();
#endif
    return run_edgewise(argc, argv);
  });
}
