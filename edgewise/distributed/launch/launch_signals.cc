// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/launch/launch_signals.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace edgewise {
namespace {

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kPassedSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

bool is_ignored(int signal) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

bool is_stop_signal(int signal) { return std::ranges::find(kStopSignals, signal) != std::end(kStopSignals); }

WaitedSignals::WaitedSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGCHLD);
  for (const int signal : kPassedSignals) {
    // A wait would return a blocked signal even if the process ignores the signal.
    if (!is_ignored(signal)) sigaddset(&signals_, signal);
  }
  sigprocmask(SIG_BLOCK, &signals_, &mask_before_);
  // The system keeps no exit status of the processes that a process starts while the process ignores SIGCHLD.
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  action.sa_flags = SA_NOCLDSTOP;
  sigaction(SIGCHLD, &action, &child_action_before_);
}

WaitedSignals::~WaitedSignals() {
  while (wait(Clock::now()) != 0) {
  }
  restore();
}

int WaitedSignals::wait(Clock::time_point deadline) const {
  while (true) {
    const auto left = std::max(Clock::duration::zero(), deadline - Clock::now());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time = {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
    const int signal = sigtimedwait(&signals_, nullptr, deadline == kNoDeadline ? nullptr : &time);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

void WaitedSignals::restore_in_child() const {
  // A handler of the launcher must not run in the other process before exec resets the action.
  for (const int signal : kPassedSignals) {
    if (sigismember(&signals_, signal) != 0) std::signal(signal, SIG_DFL);
  }
  restore();
}

void WaitedSignals::restore() const {
  sigaction(SIGCHLD, &child_action_before_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

bool end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The system sends no signal for a parent that ended before, and another process is the parent then.
  return getppid() == parent;
}

}  // namespace edgewise
