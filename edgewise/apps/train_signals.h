// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "edgewise/apps/runtime/signal_handlers.h"
#include "edgewise/train/run_requests.h"

namespace edgewise {

/// Turns signals into requests to a training run. The first SIGINT, SIGTERM or SIGHUP makes the run save and end;
/// another one, a second or more later, ends the program at once. Earlier repetitions are ignored, because a closing
/// terminal and some programs, such as `timeout`, send a signal twice. SIGUSR1 makes the run save and continue. At most
/// one object may exist.
class TrainSignals {
 public:
  void install();

  RunRequests& requests();

  /// Returns the signal that ended the run, or 0 without such a signal.
  int signal() const;

 private:
  std::optional<SignalHandlers> stop_;
  std::optional<SignalHandlers> save_;
};

}  // namespace edgewise
