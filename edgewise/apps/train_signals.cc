// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/train_signals.h"

#include <unistd.h>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/unfinished_files.h"
#include "edgewise/distributed/launch/launch_signals.h"

namespace edgewise {
namespace {

// Signal handlers may use lock-free atomics and async-signal-safe functions only.
RunRequests run_requests;
static_assert(std::atomic<bool>::is_always_lock_free);

void stop_on_signal(int signal) {
  switch (classify_end_signal(signal)) {
    case EndSignal::kFirst:
      run_requests.stop = true;
      return;
    case EndSignal::kRepetition:
      return;
    case EndSignal::kSecond:
      remove_unfinished_files();
      _exit(128 + signal);
  }
}

void save_on_signal(int /*signal*/) { run_requests.save = true; }

}  // namespace

TrainSignals::TrainSignals() {
  handle_until_exit(SIGUSR1, save_on_signal);
  unblock_signal(SIGUSR1);  // which the program, or the launcher that started it, has blocked (main.cc)
}

void TrainSignals::handle_end_signals() {
  run_requests.stop = false;
  forget_end_signals();
  give_up_blocked_streams(run_requests.stop);
  // A write to a full pipe must fail, so that the writer reads the request.
  end_handlers_.emplace(std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP}, stop_on_signal, WaitingCalls::kFail);
}

RunRequests& TrainSignals::requests() { return run_requests; }

int TrainSignals::end_signal() const { return first_end_signal(); }

}  // namespace edgewise
