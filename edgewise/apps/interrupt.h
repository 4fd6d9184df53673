// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/train/run_requests.h"

namespace edgewise {

/// From now on signals are requests to a run: the first SIGINT, SIGTERM or SIGHUP asks it to save and end, a second one
/// ends the program at once; SIGUSR1 asks it to save and go on.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  RunRequests& requests();

  /// What a program that a signal ended returns: 128 + its number; 0 when none came.
  int exit_code() const;
};

}  // namespace edgewise
