// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "edgewise/apps/runtime/signal_handlers.h"
#include "edgewise/base/file_descriptor.h"

namespace edgewise {

/// Passes SIGINT, SIGTERM and SIGHUP to the thread that waits for them, during its scope. Only one object may exist.
/// SIGHUP is a command to a server, so it is passed under nohup, too. Of SIGINT and SIGTERM, only the first signal is
/// passed: another one, a second or more later, ends the process at once (end_signals.h).
class SignalPipe {
 public:
  /// Throws Error if the system has no descriptor left.
  SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Waits for a signal, and returns its number. Signals wait until they are returned.
  int wait() const;

 private:
  explicit SignalPipe(std::pair<FileDescriptor, FileDescriptor> ends);

  FileDescriptor reader_;
  FileDescriptor writer_;
  // Destroyed first: the handlers write to the pipe.
  SignalHandlers end_handlers_;
  SignalHandlers reload_handler_;
};

}  // namespace edgewise
