// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/end_signals.h"

#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>

namespace edgewise {
namespace {

constexpr std::int64_t kRepetitionMs = 1000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Signal handlers may use lock-free atomics and async-signal-safe functions only.
std::atomic<int> first_signal = 0;
std::atomic<std::int64_t> first_ms = kNever;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_ms() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

EndSignal classify_end_signal(int signal) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, signal)) {
    first_ms = now_ms();
    return EndSignal::kFirst;
  }
  const std::int64_t now = now_ms();
  return now >= first_ms && now - first_ms >= kRepetitionMs ? EndSignal::kSecond : EndSignal::kRepetition;
}

int first_end_signal() { return first_signal; }

void forget_end_signals() {
  first_signal = 0;
  first_ms = kNever;
}

}  // namespace edgewise
