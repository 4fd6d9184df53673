// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/threads.h"

#include <omp.h>
#include <sched.h>

#include <exception>
#include <thread>
#include <vector>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

int count_affinity_cores() {
  // sched_getaffinity fails if the set is smaller than the kernel's own; 2^20 cores are enough for every kernel.
  for (std::size_t sets = 1; sets <= 1024; sets *= 2) {
    std::vector<cpu_set_t> mask(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
  }
  return omp_get_num_procs();
}

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer does not recognise libgomp's barriers and reports each handover of data as a race. It recognises
// std::thread::join.
template <class Run>
void run_on_threads(int parts, const Run& run) {
  const auto run_as_team_member = [&run, n = omp_get_max_threads()](int part) {
    omp_set_num_threads(n);
    run(part);
  };
  std::vector<std::thread> threads;
  for (int part = 0; part < parts; ++part) threads.emplace_back(run_as_team_member, part);
  for (auto& thread : threads) thread.join();
}
#else
template <class Run>
void run_on_threads(int parts, const Run& run) {
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (!omp_in_parallel())
  for (int part = 0; part < parts; ++part) run(part);
}
#endif

}  // namespace

int available_cores() {
  const int cores = count_affinity_cores();
  return std::max(1, std::min(cores, cgroup_cores().value_or(cores)));
}

void set_num_threads(int n) {
  check(n >= 1, "set_num_threads: n is {}, needs at least 1", n);
  omp_set_num_threads(n);
}

int num_threads() { return omp_get_max_threads(); }

namespace detail {

void run_parts(int parts, void (*run)(void* context, int part), void* context) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(parts));
  run_on_threads(parts, [&](int part) {
    try {
      run(context, part);
    } catch (...) {
      errors[static_cast<std::size_t>(part)] = std::current_exception();
    }
  });
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace detail
}  // namespace edgewise
