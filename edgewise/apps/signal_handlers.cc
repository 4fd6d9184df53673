// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/signal_handlers.h"

#include <unistd.h>

#include <array>
#include <csignal>

namespace edgewise {
namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};

// Signal handlers may use lock-free atomics and async-signal-safe functions only.
RunRequests run_requests;
std::atomic<int> caught_signal = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void stop_on_signal(int signal) {
  if (run_requests.stop.exchange(true)) _exit(128 + signal);
  caught_signal = signal;
}

void save_on_signal(int /*signal*/) { run_requests.save = true; }

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void SignalHandlers::install() {
  run_requests.stop = false;
  run_requests.save = false;
  caught_signal = 0;
  for (const int signal : kStopSignals) set_handler(signal, stop_on_signal);
  set_handler(SIGUSR1, save_on_signal);
}

SignalHandlers::~SignalHandlers() {
  for (const int signal : kStopSignals) set_handler(signal, SIG_DFL);
  set_handler(SIGUSR1, SIG_DFL);
}

RunRequests& SignalHandlers::requests() { return run_requests; }

int SignalHandlers::exit_code() const { return caught_signal == 0 ? 0 : 128 + caught_signal; }

}  // namespace edgewise
