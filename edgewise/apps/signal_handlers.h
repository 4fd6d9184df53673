// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/train/run_requests.h"

namespace edgewise {

/// Turns signals into requests to a training run. The first SIGINT, SIGTERM or SIGHUP makes the run save and end, a
/// second one ends the program at once; SIGUSR1 makes the run save and continue. At most one object may exist.
class SignalHandlers {
 public:
  SignalHandlers() = default;
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

  void install();

  RunRequests& requests();

  /// Returns 128 + the number of the signal that ended the run, or 0 without such a signal.
  int exit_code() const;
};

}  // namespace edgewise
