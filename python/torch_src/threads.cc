// SPDX-License-Identifier: Apache-2.0
// The functions of OpenMP that base/threads.cc calls, for this library alone. The kernels use no OpenMP regions, but
// threads of their own; OpenMP only holds the number of threads. Torch's wheels contain a runtime of OpenMP, and a second
// one in the process would not have the number that torch.set_num_threads sets.
#include <torch/csrc/stable/ops.h>

namespace {

thread_local int limit = 0;  // 0 until omp_set_num_threads is called

}  // namespace

extern "C" {

int omp_get_max_threads() noexcept {
  return limit > 0 ? limit : static_cast<int>(torch::stable::get_num_threads());
}

void omp_set_num_threads(int n) noexcept { limit = n; }

int omp_get_num_procs() noexcept { return static_cast<int>(torch::stable::get_num_threads()); }

int omp_in_parallel() noexcept { return 0; }
}
