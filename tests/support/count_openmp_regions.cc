// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD. At the end of the program, writes how many OpenMP regions with several threads the program
// and its libraries have run into the file that EDGEWISE_OPENMP_REGIONS names.
#include <dlfcn.h>
#include <omp.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

namespace {

std::atomic<int> num_regions = 0;

struct WriteAtExit {
  ~WriteAtExit() {
    if (const char* file = std::getenv("EDGEWISE_OPENMP_REGIONS")) std::ofstream(file) << num_regions << "\n";
  }
};
const WriteAtExit write_at_exit;

}  // namespace

// The function of GCC's OpenMP library that runs a region; 0 threads: as many as omp_set_num_threads() has set.
extern "C" void GOMP_parallel(void (*run)(void*), void* data, unsigned num_threads, unsigned flags) {
  using Function = decltype(&GOMP_parallel);
  static const auto original = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "GOMP_parallel"));
  const bool has_several_threads = num_threads > 1 || (num_threads == 0 && omp_get_max_threads() > 1);
  if (has_several_threads && omp_in_parallel() == 0) ++num_regions;
  original(run, data, num_threads, flags);
}
