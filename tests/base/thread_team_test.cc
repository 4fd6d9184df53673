// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/thread_team.h"

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "edgewise/base/processor_set.h"

namespace edgewise {
namespace {

constexpr int kCaller = 0;

/// Two parts. The caller runs the first, which ends when the helper, which runs the second, calls let_caller_go().
class PartsOfTwoThreads {
 public:
  virtual ~PartsOfTwoThreads() = default;

  void run(ThreadTeam& team) {
    team.run({2, [](void* self, int part) { static_cast<PartsOfTwoThreads*>(self)->run_part(part); }, this}, 2);
  }

 protected:
  virtual void run_in_helper() = 0;

  /// Called in the helper.
  void let_caller_go() { is_caller_free_ = true; }

  /// Called in the helper. Calls `pass_time` until the caller, which the helper has let go, sleeps.
  void pass_time_until_caller_sleeps(const std::function<void()>& pass_time) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    do {
      pass_time();
    } while (!is_caller_asleep() && std::chrono::steady_clock::now() < deadline);
  }

 private:
  void run_part(int part) {
    if (part == kCaller) {
      caller_ = ::gettid();
      while (!is_caller_free_) std::this_thread::yield();
    } else {
      run_in_helper();
      let_caller_go();
    }
  }

  bool is_caller_asleep() const {
    std::string state;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(caller_) + "/stat"), state);
    return state.find(") S ") != state.npos;
  }

  std::atomic<bool> is_caller_free_ = false;
  std::atomic<pid_t> caller_ = 0;
};

/// The number of processors on which the helper may run.
class CountProcessors : public PartsOfTwoThreads {
 public:
  int in_helper = 0;

 private:
  void run_in_helper() override { in_helper = ProcessorSet::of_this_thread().size(); }
};

class ThreadTeamOnProcessors : public testing::Test {
 protected:
  void SetUp() override {
    if (processors_ < 2) GTEST_SKIP() << "this process may use one processor only";
  }

  const int processors_ = ProcessorSet::of_this_thread().size();
  ThreadTeam team_;
};

TEST_F(ThreadTeamOnProcessors, KeepsItsHelpersOffTheProcessorOfTheCaller) {
  CountProcessors count;
  count.run(team_);
  EXPECT_EQ(count.in_helper, processors_ - 1);
}

TEST_F(ThreadTeamOnProcessors, LeavesTheAffinityOfTheCallerAsItIs) {
  CountProcessors().run(team_);
  EXPECT_EQ(ProcessorSet::of_this_thread().size(), processors_);
}

/// The helper stands still while the caller waits for it, as if another process had its processor.
class StandStill : public PartsOfTwoThreads {
 public:
  int before = 0;
  int after = 0;

 private:
  void run_in_helper() override {
    before = ProcessorSet::of_this_thread().size();
    let_caller_go();
    pass_time_until_caller_sleeps([] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); });
    after = ProcessorSet::of_this_thread().size();
  }
};

TEST_F(ThreadTeamOnProcessors, MovesAHelperThatStandsStillToTheProcessorOfTheSleepingCaller) {
  StandStill work;
  work.run(team_);
  EXPECT_EQ(work.before, processors_ - 1);
  EXPECT_EQ(work.after, 1);
}

TEST_F(ThreadTeamOnProcessors, TakesItsProcessorBackForTheNextWork) {
  StandStill().run(team_);
  CountProcessors count;
  count.run(team_);
  EXPECT_EQ(count.in_helper, processors_ - 1);
}

/// The helper computes for longer than the caller does.
class ComputeLonger : public PartsOfTwoThreads {
 public:
  int after = 0;

 private:
  void run_in_helper() override {
    let_caller_go();
    pass_time_until_caller_sleeps([] {});
    after = ProcessorSet::of_this_thread().size();
  }
};

TEST_F(ThreadTeamOnProcessors, LetsTheSystemPlaceAHelperThatComputesWhileTheCallerSleeps) {
  // Another process may have the helper's processor at the moment at which the caller looks.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  bool is_placed_by_system = false;
  while (!is_placed_by_system && std::chrono::steady_clock::now() < deadline) {
    ComputeLonger work;
    work.run(team_);
    is_placed_by_system = work.after == processors_;
  }
  EXPECT_TRUE(is_placed_by_system);
}

}  // namespace
}  // namespace edgewise
