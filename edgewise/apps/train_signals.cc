// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/train_signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <ctime>
#include <limits>

#include "edgewise/apps/parent_process.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/error.h"
#include "edgewise/base/unfinished_files.h"

namespace edgewise {
namespace {

constexpr std::int64_t kRepetitionMs = 1000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Signal handlers may use lock-free atomics and async-signal-safe functions only.
RunRequests run_requests;
std::atomic<int> caught_signal = 0;
std::atomic<std::int64_t> caught_ms = kNever;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_ms() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void stop_on_signal(int signal) {
  int none = 0;
  if (caught_signal.compare_exchange_strong(none, signal)) {
    caught_ms = now_ms();
    run_requests.stop = true;  // set last, so that a thread that finds the request also finds the signal
  } else if (now_ms() >= caught_ms && now_ms() - caught_ms >= kRepetitionMs) {
    remove_unfinished_files();
    _exit(128 + signal);
  }
}

void save_on_signal(int /*signal*/) { run_requests.save = true; }

}  // namespace

TrainSignals::TrainSignals() : save_({SIGUSR1}, save_on_signal) {}

void TrainSignals::install() {
  run_requests.stop = false;
  caught_signal = 0;
  caught_ms = kNever;
  give_up_blocked_streams(run_requests.stop);
  // A write to a full pipe must fail, so that the writer reads the request.
  stop_.emplace(std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP}, stop_on_signal, WaitingCalls::kFail);
}

void TrainSignals::end_with_parent(std::int64_t parent) {
  check(edgewise::end_with_parent(static_cast<pid_t>(parent)),
        "train: --end-with-parent is {}, needs the number of the process that started this one and has not ended",
        parent);
}

RunRequests& TrainSignals::requests() { return run_requests; }

int TrainSignals::signal() const { return caught_signal; }

}  // namespace edgewise
