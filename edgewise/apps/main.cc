// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "edgewise/apps/heap_reserve.h"
#include "edgewise/apps/process_start.h"
#include "edgewise/apps/program.h"
#include "edgewise/apps/runtime/process_limits.h"

int main(int argc, char** argv) {
  using namespace edgewise;
  return_to_removed_directory();
  const bool trains = argc > 1 && std::string_view(argv[1]) == "train";
  if (!trains) stop_blocking_requests();
  return run_within_limits("edgewise", kHeapReserve, [&] {
#ifdef EDGEWISE_TCMALLOC
    reserve_address_space();
#endif
    return run_edgewise(argc, argv);
  });
}
