// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/threads_option.h"

#include <cstdlib>

#include "edgewise/base/threads.h"

namespace edgewise {

void add_threads_option(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "threads to use; by default OMP_NUM_THREADS, or the cores there are")
      ->check(CLI::Range(0, 4096));
}

void use_threads(int threads) {
  // libtorch computes with OpenMP too, so one number serves both.
  if (threads == 0 && std::getenv("OMP_NUM_THREADS") != nullptr) return;
  set_num_threads(threads > 0 ? threads : available_cores());
}

}  // namespace edgewise
