// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/apps/runtime/signal_handlers.h"
#include "edgewise/train/run_requests.h"

namespace edgewise {

/// Turns signals into requests to a training run. The first SIGINT, SIGTERM or SIGHUP makes the run save and end;
/// another one, a second or more later, ends the program at once (EndSignal). SIGUSR1 makes the run save and
/// continue; before the first step, the request waits. At most one object may exist.
class TrainSignals {
 public:
  /// Handles SIGUSR1 only, until the process ends, because a request that comes too late must not end it. The other
  /// signals still end the process: nothing is to be saved before training.
  TrainSignals();

  /// Handles all signals. From now on, output without a reader does not delay the end of the run.
  void install();

  /// Lets the system send SIGTERM to this process when the thread that started it ends, in whatever way. Throws Error
  /// if `parent` is not the process that started this one, or has ended already.
  static void end_with_parent(std::int64_t parent);

  RunRequests& requests();

  /// Returns the signal that ended the run, or 0 without such a signal.
  int signal() const;

 private:
  std::optional<SignalHandlers> stop_;
};

}  // namespace edgewise
