// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <future>

#include "edgewise/base/background.h"

namespace edgewise::python {

bool handles_signals() { return gettid() == getpid(); }

void run_signal_handlers() {
  const nanobind::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

void run_until_signal(const std::function<void()>& run, StopRequest& stop) {
  if (!handles_signals()) {
    run();
    return;
  }
  std::future<void> end = run_in_background(run);
  try {
    while (end.wait_for(kSignalInterval) != std::future_status::ready) run_signal_handlers();
  } catch (...) {
    stop = true;
    end.wait();
    throw;
  }
  end.get();
}

}  // namespace edgewise::python
