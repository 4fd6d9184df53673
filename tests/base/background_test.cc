// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/background.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "edgewise/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/forbid_threads.h"

namespace edgewise {
namespace {

TEST(RunInBackground, RunsBesideTheCallingThread) {
  std::atomic<bool> is_released = false;
  auto future = run_in_background([&] {
    while (!is_released) std::this_thread::yield();
    return 7;
  });
  is_released = true;
  EXPECT_EQ(future.get(), 7);
}

TEST(RunInBackground, PassesExceptionsToTheFuture) {
  auto future = run_in_background([] { fail("background"); });
  EXPECT_EQ(error_of([&] { future.get(); }), "background");
}

TEST(RunInBackground, RunsInTheCallingThreadIfTheSystemStartsNoOther) {
  constexpr int kCorrect = 7;
  constexpr int kNoFilter = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!forbid_threads()) ::_exit(kNoFilter);
    const std::thread::id caller = std::this_thread::get_id();
    auto future = run_in_background([caller] { return std::this_thread::get_id() == caller ? kCorrect : 1; });
    const bool is_ready = future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    const bool is_refused = !try_start_thread([] {}).has_value();
    ::_exit(is_ready && is_refused ? future.get() : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "this system has no seccomp filters";
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kCorrect);
}

}  // namespace
}  // namespace edgewise
