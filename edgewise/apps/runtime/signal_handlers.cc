// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/signal_handlers.h"

#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>

#include "edgewise/base/files/unfinished_files.h"

namespace edgewise {
namespace {

struct sigaction action_of(int signal) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  return action;
}

void set_handler(int signal, void (*handler)(int), WaitingCalls waiting_calls) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigfillset(&action.sa_mask);
  action.sa_flags = waiting_calls == WaitingCalls::kGoOn ? SA_RESTART : 0;
  sigaction(signal, &action, nullptr);
}

void change_mask(int how, int signal, sigset_t* before) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, signal);
  pthread_sigmask(how, &signals, before);
}

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

SignalHandlers::SignalHandlers(std::initializer_list<int> signals, void (*handler)(int), WaitingCalls waiting_calls,
                               IgnoredSignals ignored) {
  for (const int signal : signals) {
    const struct sigaction before = action_of(signal);
    if (before.sa_handler == SIG_IGN && ignored == IgnoredSignals::kStayIgnored) continue;
    set_handler(signal, handler, waiting_calls);
    previous_.push_back({signal, before});
  }
}

SignalHandlers::~SignalHandlers() {
  for (const PreviousAction& previous : previous_) sigaction(previous.signal, &previous.action, nullptr);
}

bool block_signal(int signal) {
  sigset_t before;
  change_mask(SIG_BLOCK, signal, &before);
  return sigismember(&before, signal) == 1;
}

void unblock_signal(int signal) { change_mask(SIG_UNBLOCK, signal, nullptr); }

void handle_until_exit(int signal, void (*handler)(int)) {
  if (action_of(signal).sa_handler != SIG_IGN) set_handler(signal, handler, WaitingCalls::kGoOn);
}

void end_process(int signal) {
  if (classify_end_signal(signal) == EndSignal::kRepetition) return;
  remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // takes effect when the handler returns, because the handler blocks the signal
}

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
