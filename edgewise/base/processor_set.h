// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sched.h>

#include <vector>

namespace edgewise {

/// Logical processors on which the scheduler may run a thread.
class ProcessorSet {
 public:
  /// Returns the set of the calling thread, or an empty set if the system does not tell it.
  static ProcessorSet of_this_thread();

  /// Returns an empty set if `processor` is negative.
  static ProcessorSet of(int processor);

  int size() const;

  /// Does nothing if `processor` is negative.
  void remove(int processor);

  /// Lets `thread` run only on these processors. Does nothing if the set is empty or the system refuses.
  void bind(pthread_t thread) const;

 private:
  std::vector<cpu_set_t> masks_;
};

}  // namespace edgewise
