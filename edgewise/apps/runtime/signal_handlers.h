// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <initializer_list>
#include <vector>

namespace edgewise {

/// Handles signals during its scope, and restores what handled them before. A signal that the process was started to
/// ignore, for example SIGHUP under nohup and SIGINT in the background jobs of a script, stays ignored.
class SignalHandlers {
 public:
  SignalHandlers(std::initializer_list<int> signals, void (*handler)(int));
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
  ~SignalHandlers();

 private:
  struct Replaced {
    int signal;
    struct sigaction before;
  };
  std::vector<Replaced> replaced_;
};

/// A signal handler that removes the temporary files of unfinished output and ends the process by the signal.
void end_process(int signal);

}  // namespace edgewise
