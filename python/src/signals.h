// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "edgewise/base/stop_request.h"

// Waiting without the GIL, which Ctrl-C ends.

namespace edgewise::python {

/// Returns whether this thread runs Python's signal handlers: the main thread of the process does.
bool handles_signals();

/// Runs the signal handlers of Python, which raise KeyboardInterrupt after Ctrl-C. Takes the GIL meanwhile. Throws
/// nanobind::python_error if a handler raises an exception.
void run_signal_handlers();

/// The longest time between two calls of run_signal_handlers.
inline constexpr std::chrono::milliseconds kSignalInterval{20};

/// Runs signal handlers in a loop, at most once in each interval: taking the GIL may take longer than a turn of the
/// loop.
class SignalClock {
 public:
  void run_handlers_if_due() {
    if (!handles_signals()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kSignalInterval) return;
    run_signal_handlers();
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Calls `run` in a thread of its own and waits for its end. If a signal handler raises an exception meanwhile, sets
/// the request, waits for the end of `run` and throws the exception. The GIL must be released.
void run_until_signal(const std::function<void()>& run, StopRequest& stop);

}  // namespace edgewise::python
