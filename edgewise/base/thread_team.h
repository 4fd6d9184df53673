// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

// The threads of parallel_for (threads.h), which gives each calling thread a team of its own. A call starts no thread
// that exists already, and allocates no memory for the work.

namespace edgewise {

/// Work that is cut into parts: run(context, part) for each part in [0, num_parts). `run` must not throw.
struct PartedWork {
  int num_parts = 0;
  void (*run)(void* context, int part) = nullptr;
  void* context = nullptr;
};

/// Threads that help one thread, the caller, with its work. Every thread claims the next part that no thread has
/// claimed: first from its own share of consecutive parts, so that similar calls find similar data in the thread's
/// cache, then from the shares of others. The caller therefore never waits for a helper that has not begun, only for
/// parts in progress. Waiting threads spin for at most 200 µs and then sleep, so that a busy machine can run the
/// threads that they wait for. Helpers may not run on the caller's processor while the caller works there; the affinity
/// of the caller stays as it is.
class ThreadTeam {
 public:
  ThreadTeam();

  /// Stops and joins the helpers. After a fork, the child has no helpers and leaves their memory as it is.
  ~ThreadTeam();

  /// Runs the parts in this thread and at most `num_threads` - 1 helpers; returns when all parts have ended. Starts the
  /// helpers that are missing. Uses fewer if the system refuses to start one. Only one thread may call run().
  void run(const PartedWork& work, int num_threads);

 private:
  class Helpers;

  std::unique_ptr<Helpers> helpers_;
};

}  // namespace edgewise
