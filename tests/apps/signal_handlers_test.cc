// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/signal_handlers.h"

#include <gtest/gtest.h>

#include <csignal>

namespace edgewise {
namespace {

void ignore_in_handler(int /*signal*/) {}
void count_nothing(int /*signal*/) {}

constexpr int kSignals[] = {SIGUSR1, SIGUSR2, SIGWINCH};

struct sigaction action_of(int signal) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  return action;
}

void expect_equal(const struct sigaction& left, const struct sigaction& right) {
  EXPECT_EQ(left.sa_handler, right.sa_handler);
  EXPECT_EQ(left.sa_flags, right.sa_flags);
  for (int signal = 1; signal < NSIG; ++signal) {
    EXPECT_EQ(sigismember(&left.sa_mask, signal), sigismember(&right.sa_mask, signal)) << signal;
  }
}

/// Sets what the process did before the scopes of the tests: SIGUSR1 has a handler with a mask and flags, SIGUSR2 is
/// ignored, SIGWINCH has its default. Restores the actions of the test program afterwards.
class SignalHandlersTest : public testing::Test {
 protected:
  SignalHandlersTest() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) saved_[i] = action_of(kSignals[i]);
    struct sigaction own = {};
    own.sa_handler = ignore_in_handler;
    own.sa_flags = SA_NODEFER;
    sigemptyset(&own.sa_mask);
    sigaddset(&own.sa_mask, SIGALRM);
    sigaction(SIGUSR1, &own, nullptr);
    std::signal(SIGUSR2, SIG_IGN);
    std::signal(SIGWINCH, SIG_DFL);
    for (std::size_t i = 0; i < std::size(kSignals); ++i) before_[i] = action_of(kSignals[i]);
  }
  ~SignalHandlersTest() override {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &saved_[i], nullptr);
  }

  void expect_as_before() const {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      SCOPED_TRACE(kSignals[i]);
      expect_equal(action_of(kSignals[i]), before_[i]);
    }
  }

 private:
  struct sigaction saved_[std::size(kSignals)];
  struct sigaction before_[std::size(kSignals)];
};

TEST_F(SignalHandlersTest, RestoreHandlersMasksAndFlagsOfNestedScopes) {
  {
    const SignalHandlers outer({SIGUSR1, SIGUSR2, SIGWINCH}, count_nothing);
    const struct sigaction during = action_of(SIGUSR1);
    EXPECT_EQ(during.sa_handler, count_nothing);
    EXPECT_EQ(action_of(SIGWINCH).sa_handler, count_nothing);
    {
      const SignalHandlers inner({SIGUSR1, SIGUSR2}, end_process, WaitingCalls::kFail);
      EXPECT_EQ(action_of(SIGUSR1).sa_handler, end_process);
    }
    expect_equal(action_of(SIGUSR1), during);
  }
  expect_as_before();
}

TEST_F(SignalHandlersTest, LeaveAnIgnoredSignalIgnored) {
  const SignalHandlers handlers({SIGUSR2}, count_nothing);
  EXPECT_EQ(action_of(SIGUSR2).sa_handler, SIG_IGN);
}

TEST_F(SignalHandlersTest, LetWaitingCallsGoOnOrFail) {
  {
    const SignalHandlers handlers({SIGUSR1}, count_nothing);
    EXPECT_EQ(action_of(SIGUSR1).sa_flags & SA_RESTART, SA_RESTART);
  }
  const SignalHandlers handlers({SIGUSR1}, count_nothing, WaitingCalls::kFail);
  EXPECT_EQ(action_of(SIGUSR1).sa_flags & SA_RESTART, 0);
}

}  // namespace
}  // namespace edgewise
