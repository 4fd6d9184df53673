// SPDX-License-Identifier: Apache-2.0
// The functions of OpenMP that base/threads.cc calls, for this library alone. Torch's wheels contain a runtime of
// OpenMP, and a second one in the process would not have the number of threads that torch.set_num_threads sets. The
// kernels run on threads of their own (base/thread_team.h) and contain no OpenMP regions.
#include <torch/csrc/stable/ops.h>

extern "C" {

int omp_get_max_threads() noexcept { return static_cast<int>(torch::stable::get_num_threads()); }

int omp_get_num_procs() noexcept { return omp_get_max_threads(); }

int omp_in_parallel() noexcept { return 0; }

// Called only to limit OpenMP regions (SerialOpenMpScope).
void omp_set_num_threads(int /*n*/) noexcept {}
}
