// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "edgewise/apps/runtime/signal_handlers.h"
#include "edgewise/train/run_requests.h"

namespace edgewise {

/// Turns signals into requests to a training run. The first SIGINT, SIGTERM or SIGHUP makes the run save and end;
/// another one, a second or more later, ends the program at once (EndSignal). SIGUSR1 makes the run save and
/// continue; a request before the first step is kept until then. At most one object may exist.
class TrainSignals {
 public:
  /// Handles SIGUSR1 from now until the process ends: the default action would end the process if a request came after
  /// the run. The other signals still end the process, because there is nothing to save before training.
  TrainSignals();

  /// Handles the other signals too. From now on, a stop request also ends a write that waits for a reader.
  void handle_end_signals();

  RunRequests& requests();

  /// Returns the signal that ended the run, or 0 without such a signal.
  int end_signal() const;

 private:
  std::optional<SignalHandlers> end_handlers_;
};

}  // namespace edgewise
