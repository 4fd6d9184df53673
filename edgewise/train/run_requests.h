// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace edgewise {

/// What others ask of a run while it goes on: other threads, and signal handlers.
struct RunRequests {
  std::atomic<bool> stop = false;  // save and end
  std::atomic<bool> save = false;  // save and go on; the run takes the request back
};

}  // namespace edgewise
