// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/signal_handlers.h"

#include "edgewise/apps/runtime/end_signals.h"
#include "edgewise/base/files/temporary.h"

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

}  // namespace edgewise
