// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>

namespace edgewise {

/// Whether a signal asks a program to end: SIGINT, SIGTERM or SIGHUP.
bool is_stop_signal(int signal);

/// The signals for which a launcher of other processes waits: SIGCHLD, and those of SIGINT, SIGTERM, SIGHUP and SIGUSR1
/// that this process does not ignore. Blocks them in this thread during its scope, so that none is lost between two
/// waits. Signals that come after the last wait have no effect.
class WaitedSignals {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNoDeadline = Clock::time_point::max();

  WaitedSignals();
  WaitedSignals(const WaitedSignals&) = delete;
  WaitedSignals& operator=(const WaitedSignals&) = delete;
  ~WaitedSignals();

  /// Returns the next signal, or 0 at the deadline.
  int wait(Clock::time_point deadline) const;

  /// Gives a forked process the signal mask of this process before the scope, and no handlers. For the time before
  /// exec.
  void restore_in_child() const;

 private:
  void restore() const;

  sigset_t signals_;
  sigset_t mask_before_;
  struct sigaction child_action_before_;
};

/// Lets the system send SIGTERM to this process when the thread that started it ends, in whatever way. Returns false if
/// `parent` is not the process that started this one, or has ended already. May be called between fork and exec.
bool end_with_parent(pid_t parent);

}  // namespace edgewise
