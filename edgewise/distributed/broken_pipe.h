// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace edgewise {

/// Keeps the signal SIGPIPE from this thread, and from threads that it starts meanwhile: Gloo writes to connections
/// that the other process may have closed.
class BlockedBrokenPipe {
 public:
  BlockedBrokenPipe();
  BlockedBrokenPipe(const BlockedBrokenPipe&) = delete;
  BlockedBrokenPipe& operator=(const BlockedBrokenPipe&) = delete;
  /// Discards a signal that came meanwhile.
  ~BlockedBrokenPipe();

 private:
  sigset_t before_;
};

}  // namespace edgewise
