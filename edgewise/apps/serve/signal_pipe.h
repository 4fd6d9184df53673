// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "edgewise/apps/runtime/signal_handlers.h"
#include "edgewise/base/files/file_system.h"

namespace edgewise {

/// Blocks SIGHUP, which asks a server to reload, until a SignalPipe receives it. A SIGHUP that is sent while the
/// program starts is therefore not lost: SignalPipe::wait() returns it later. The .preinit_array of edgewise-server
/// calls this function before main().
void block_reload_signal();

/// Passes SIGHUP, and from pass_end_signals() on SIGINT and SIGTERM, to the thread that waits for them, during its
/// scope. Only one object may exist. SIGHUP is passed under nohup, too. Of SIGINT and SIGTERM, only the first signal is
/// passed: another one, a second or more later, ends the process at once (EndSignal).
class SignalPipe {
 public:
  /// Throws Error if no file descriptor is left.
  SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  void pass_end_signals();

  /// Waits for a signal, and returns its number. Signals wait until they are returned.
  int wait() const;

 private:
  explicit SignalPipe(std::pair<FileDescriptor, FileDescriptor> ends);

  FileDescriptor reader_;
  FileDescriptor writer_;
  // Destroyed first: the handlers write to the pipe.
  SignalHandlers reload_handler_;
  std::optional<SignalHandlers> end_handlers_;
};

}  // namespace edgewise
