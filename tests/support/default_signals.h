// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace edgewise {

/// Gives signals the effect that they have in a program of a terminal. Background jobs of a script ignore SIGINT and
/// SIGQUIT, and programs under nohup ignore SIGHUP; the programs that they start inherit this.
inline void handle_signals_by_default() {
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_DFL);
}

}  // namespace edgewise
