// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>

#include "edgewise/base/stop_request.h"

// The end of a process in which daemon threads of Python translate or generate. Such threads do not end with Python,
// and may not run while the process destroys its objects.

namespace edgewise::python {

/// Adds a service whose threads end when Python ends, which calls `stop` then. Call it with the GIL.
void stop_at_end(std::weak_ptr<void> service, std::function<void()> stop);

/// Adds a service whose threads end when Python ends. Call it with the GIL.
template <class Service>
void stop_at_end(const std::shared_ptr<Service>& service) {
  stop_at_end(service, [unowned = service.get()] { unowned->stop(); });
}

/// Returns whether Python has ended all services.
bool is_process_ending();

/// Lets a daemon thread wait for the end of the process. It must not hold the GIL.
[[noreturn]] void wait_for_process_end();

/// Calls `fn`. The end of the process cancels the calls of all threads: a daemon thread then waits for it.
template <class Fn>
auto until_process_end(Fn fn) {
  try {
    return fn();
  } catch (const StopException&) {
    wait_for_process_end();
  }
}

/// Registers the function that ends the services.
void bind_process_end();

}  // namespace edgewise::python
