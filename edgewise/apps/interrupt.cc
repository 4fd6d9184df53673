// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/interrupt.h"

#include <unistd.h>

#include <array>
#include <csignal>

namespace edgewise {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// A handler may touch nothing but lock-free atomics and async-signal-safe functions.
std::atomic<bool> stop_requested = false;
std::atomic<int> caught_signal = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  if (stop_requested.exchange(true)) _exit(128 + signal);
  caught_signal = signal;
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  stop_requested = false;
  caught_signal = 0;
  set_handlers(on_signal);
}

InterruptWatch::~InterruptWatch() { set_handlers(SIG_DFL); }

const std::atomic<bool>& InterruptWatch::stop() const { return stop_requested; }

int InterruptWatch::exit_code() const { return caught_signal == 0 ? 0 : 128 + caught_signal; }

}  // namespace edgewise
