// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/threads.h"

#include <omp.h>

#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>

#include "edgewise/base/cgroup.h"
#include "edgewise/base/error.h"
#include "edgewise/base/processor_set.h"
#include "edgewise/base/thread_team.h"

namespace edgewise {
namespace {

// num_threads() within a SerialOpenMpScope of this thread; 0 outside.
thread_local int num_threads_in_serial_scope = 0;

thread_local bool is_running_parts = false;

/// The exception of the first part that failed.
class FirstFailure {
 public:
  void add(int part, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (error_ && part > part_) return;
    part_ = part;
    error_ = std::move(error);
  }

  void rethrow_if_any() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  int part_ = 0;
  std::exception_ptr error_;
};

/// Runs parts that may throw.
struct ThrowingWork {
  void (*run)(void* context, int part);
  void* context;
  FirstFailure failure = {};

  static void run_part(void* self, int part) {
    auto& work = *static_cast<ThrowingWork*>(self);
    const bool was_running_parts = std::exchange(is_running_parts, true);
    try {
      work.run(work.context, part);
    } catch (...) {
      work.failure.add(part, std::current_exception());
    }
    is_running_parts = was_running_parts;
  }
};

}  // namespace

int available_cores() {
  const int bound = ProcessorSet::of_this_thread().size();
  const int cores = bound > 0 ? bound : omp_get_num_procs();
  return std::max(1, std::min(cores, cgroup_cores().value_or(cores)));
}

void set_num_threads(int n) {
  check(n >= 1, "set_num_threads: n is {}, needs at least 1", n);
  if (num_threads_in_serial_scope > 0) {
    num_threads_in_serial_scope = n;
  } else {
    omp_set_num_threads(n);
  }
}

int default_num_threads() {
  // num_threads() is OMP_NUM_THREADS unless another number is set.
  return std::getenv("OMP_NUM_THREADS") != nullptr ? num_threads() : available_cores();
}

int num_threads() { return num_threads_in_serial_scope > 0 ? num_threads_in_serial_scope : omp_get_max_threads(); }

SerialOpenMpScope::SerialOpenMpScope() : is_outermost_(num_threads_in_serial_scope == 0) {
  if (!is_outermost_) return;
  num_threads_in_serial_scope = omp_get_max_threads();
  omp_set_num_threads(1);
}

SerialOpenMpScope::~SerialOpenMpScope() {
  if (is_outermost_) omp_set_num_threads(std::exchange(num_threads_in_serial_scope, 0));
}

void detail::run_parts(int parts, void (*run)(void* context, int part), void* context) {
  ThrowingWork work{run, context};
  if (is_running_parts || omp_in_parallel() != 0) {
    for (int part = 0; part < parts; ++part) ThrowingWork::run_part(&work, part);
  } else {
    const SerialOpenMpScope serial;
    static thread_local ThreadTeam team;
    team.run({parts, ThrowingWork::run_part, &work}, num_threads());
  }
  work.failure.rethrow_if_any();
}

}  // namespace edgewise
