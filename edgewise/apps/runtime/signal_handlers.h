// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <initializer_list>
#include <vector>

namespace edgewise {

/// The effect of a signal on a system call that waits, such as reading from a pipe: the call goes on after the handler,
/// or fails with EINTR.
enum class WaitingCalls { kGoOn, kFail };

/// Signals that the process was started to ignore, for example SIGHUP under nohup and SIGINT in the background jobs of
/// a script.
enum class IgnoredSignals { kStayIgnored, kAreHandled };

/// Handles signals during its scope, and restores what handled them before.
class SignalHandlers {
 public:
  SignalHandlers(std::initializer_list<int> signals, void (*handler)(int),
                 WaitingCalls waiting_calls = WaitingCalls::kGoOn,
                 IgnoredSignals ignored = IgnoredSignals::kStayIgnored);
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
  ~SignalHandlers();

 private:
  struct PreviousAction {
    int signal;
    struct sigaction action;
  };
  std::vector<PreviousAction> previous_;
};

/// Blocks a signal in this thread and those that it starts: the signal waits until unblock_signal(). Returns whether it
/// was blocked before. Both functions may be called in .preinit_array.
bool block_signal(int signal);
void unblock_signal(int signal);

/// Handles a signal from now on, unless the process was started to ignore the signal.
void handle_until_exit(int signal, void (*handler)(int));

/// A signal handler that removes the temporary files of unfinished output and ends the process by the signal, unless it
/// repeats a signal that another handler handled.
void end_process(int signal);

/// A signal that asks the program to end: the first one, the same or another one within a second of the first, or a
/// later one. A repetition is no second request, because a closing terminal and some programs, such as `timeout`, send
/// a signal twice.
enum class EndSignal { kFirst, kRepetition, kSecond };

/// Tells what `signal` is, and remembers the first one. Signal handlers may call this function.
EndSignal classify_end_signal(int signal);

/// Returns the first signal, or 0 if there was none.
int first_end_signal();

/// Makes the next signal the first one.
void forget_end_signals();

}  // namespace edgewise
