// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "edgewise/base/stop_request.h"

namespace edgewise {

/// Requests to a training run, which other threads and signal handlers may set.
struct RunRequests {
  StopRequest stop = false;        // save and end
  std::atomic<bool> save = false;  // save and continue; the run resets the flag
};

}  // namespace edgewise
