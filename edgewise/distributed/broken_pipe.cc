// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/broken_pipe.h"

#include <ctime>

namespace edgewise {
namespace {

sigset_t broken_pipe_alone() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  return signals;
}

}  // namespace

BlockedBrokenPipe::BlockedBrokenPipe() {
  const sigset_t signals = broken_pipe_alone();
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

BlockedBrokenPipe::~BlockedBrokenPipe() {
  const sigset_t signals = broken_pipe_alone();
  constexpr timespec kNoTime = {};
  if (sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&signals, nullptr, &kNoTime);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace edgewise
