// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/threads.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "edgewise/base/cgroup.h"
#include "edgewise/base/files/files.h"
#include "tests/base/support.h"
#include "tests/support/forbid_threads.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

class ParallelFor : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }

 private:
  int before_ = num_threads();
};

using Parts = std::vector<std::pair<std::int64_t, std::int64_t>>;

Parts parts_of(std::int64_t count, std::int64_t grain) {
  std::vector<std::int64_t> end_at(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  parallel_for(count, grain,
               [&](std::int64_t begin, std::int64_t end) { end_at[static_cast<std::size_t>(begin)] = end; });
  Parts parts;
  for (std::size_t begin = 0; begin < end_at.size(); ++begin) {
    if (end_at[begin] > 0) parts.emplace_back(begin, end_at[begin]);
  }
  return parts;
}

TEST_F(ParallelFor, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 8, 9, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& visit : visits) ASSERT_EQ(visit, 1) << count << " with " << threads << " threads";
    }
  }
}

TEST_F(ParallelFor, SplitsByCountGrainAndThreadsAlone) {
  set_num_threads(3);
  EXPECT_EQ(parts_of(24, 1), (Parts{{0, 2},
                                    {2, 4},
                                    {4, 6},
                                    {6, 8},
                                    {8, 10},
                                    {10, 12},
                                    {12, 14},
                                    {14, 16},
                                    {16, 18},
                                    {18, 20},
                                    {20, 22},
                                    {22, 24}}));
  EXPECT_EQ(parts_of(10, 3), (Parts{{0, 3}, {3, 6}, {6, 10}}));
  EXPECT_EQ(parts_of(10, 5), (Parts{{0, 5}, {5, 10}}));
  EXPECT_EQ(parts_of(10, 6), (Parts{{0, 10}}));
  EXPECT_EQ(parts_of(2, 0), (Parts{{0, 1}, {1, 2}}));
  EXPECT_EQ(parts_of(0, 1), (Parts{}));
  EXPECT_EQ(parts_of(-3, 1), (Parts{}));
  set_num_threads(1);
  EXPECT_EQ(parts_of(10, 1), (Parts{{0, 10}}));
}

TEST_F(ParallelFor, GivesAllThreadsEquallyManyRangesOfEqualSize) {
  for (const int threads : {2, 3, 8}) {
    set_num_threads(threads);
    for (std::int64_t count = 1; count < 100; ++count) {
      for (const std::int64_t grain : {1, 4, 5, 17}) {
        SCOPED_TRACE(std::to_string(count) + " elements in ranges of " + std::to_string(grain));
        const Parts parts = parts_of(count, grain);
        const std::int64_t num_parts = std::ssize(parts);
        EXPECT_TRUE(num_parts <= threads || num_parts % threads == 0) << num_parts;
        std::int64_t end_before = 0;
        for (const auto& [begin, end] : parts) {
          EXPECT_EQ(begin, end_before);
          EXPECT_GE(end - begin, num_parts == 1 ? 1 : grain);
          EXPECT_LE((end - begin) - count / num_parts, 1);
          end_before = end;
        }
        EXPECT_EQ(end_before, count);
      }
    }
  }
}

TEST_F(ParallelFor, SplitsEquallyInsideAnotherParallelFor) {
  set_num_threads(3);
  std::vector<Parts> inside(2);
  parallel_for(2, 1,
               [&](std::int64_t begin, std::int64_t) { inside[static_cast<std::size_t>(begin)] = parts_of(10, 1); });
  EXPECT_EQ(inside, std::vector<Parts>(2, parts_of(10, 1)));
}

// Waits until a counter has a value, for at most a minute.
bool reaches(const std::atomic<int>& counter, int value) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (counter < value) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_F(ParallelFor, RunsOnSeveralThreads) {
  set_num_threads(3);
  std::atomic<int> begun = 0;
  parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
    ++begun;
    EXPECT_TRUE(reaches(begun, 3)) << "of three ranges that need each other, some have no thread";
  });
}

TEST_F(ParallelFor, AThreadThatIsHeldUpHoldsUpOneRange) {
  set_num_threads(2);
  for (const std::int64_t held_up : {0, 3, 7}) {
    std::atomic<int> others_done = 0;
    parallel_for(8, 1, [&](std::int64_t begin, std::int64_t) {
      if (begin == held_up) {
        EXPECT_TRUE(reaches(others_done, 7)) << "the other thread waits instead of taking the other ranges";
      } else {
        ++others_done;
      }
    });
  }
}

TEST_F(ParallelFor, UsesTheNumberOfThreadsOfItsCaller) {
  std::vector<std::thread> callers;
  for (int threads = 1; threads <= 4; ++threads) {
    callers.emplace_back([threads] {
      set_num_threads(threads);
      for (int repetition = 0; repetition < 300; ++repetition) {
        std::vector<int> values(100);
        parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
          EXPECT_EQ(num_threads(), threads);
          for (std::int64_t i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] = static_cast<int>(i);
        });
        int sum = 0;
        for (const int value : values) sum += value;
        EXPECT_EQ(sum, 4950);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// Threads that a larger call has woken may begin only during the next, smaller call. The pauses are around the time
// after which waiting threads sleep.
TEST_F(ParallelFor, UsesNoMoreThreadsThanWereSetAfterALargerCall) {
  constexpr std::chrono::microseconds kWork(10);
  int pause = 0;
  for (int repetition = 0; repetition < 400; ++repetition) {
    for (const int threads : {8, 2, 5}) {
      set_num_threads(threads);
      std::mutex mutex;
      std::set<std::thread::id> used;
      std::atomic<int> sum = 0;
      parallel_for(40, 1, [&](std::int64_t begin, std::int64_t end) {
        sum += static_cast<int>(end - begin);
        const auto work_end = std::chrono::steady_clock::now() + kWork;
        while (std::chrono::steady_clock::now() < work_end) {
        }
        const std::lock_guard lock(mutex);
        used.insert(std::this_thread::get_id());
      });
      ASSERT_EQ(sum, 40);
      ASSERT_LE(used.size(), static_cast<std::size_t>(threads));
      pause = (pause + 37) % 300;
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
    }
  }
}

TEST_F(ParallelFor, RunsOpenMpRegionsInsideRangesInOneThread) {
  set_num_threads(2);
  parallel_for(8, 1, [&](std::int64_t, std::int64_t) { EXPECT_EQ(omp_get_max_threads(), 1); });
  EXPECT_EQ(omp_get_max_threads(), 2);
}

TEST_F(ParallelFor, RunsInOneThreadInsideAnOpenMpRegion) {
  std::atomic<int> other_threads = 0;
#pragma omp parallel num_threads(2)
  {
    const std::thread::id caller = std::this_thread::get_id();
    parallel_for(100, 1, [&](std::int64_t, std::int64_t) { other_threads += std::this_thread::get_id() != caller; });
  }
  EXPECT_EQ(other_threads, 0);
}

TEST_F(ParallelFor, UsesAllThreadsWhereOpenMpUsesOne) {
  set_num_threads(3);
  {
    const SerialOpenMpScope serial;
    EXPECT_EQ(omp_get_max_threads(), 1);
    EXPECT_EQ(num_threads(), 3);
    set_num_threads(2);
    const SerialOpenMpScope inner;
    EXPECT_EQ(num_threads(), 2);
    std::atomic<int> begun = 0;
    parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
      ++begun;
      EXPECT_TRUE(reaches(begun, 2));
    });
  }
  EXPECT_EQ(omp_get_max_threads(), 2);
}

// Returns the exit code of `run` in a process of its own, with the threads of this process gone.
template <class Run>
int exit_code_of_fork(const Run& run) {
  const pid_t child = ::fork();
  if (child == 0) std::exit(run());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int sum_in_parallel() {
  std::atomic<int> sum = 0;
  parallel_for(10, 1, [&](std::int64_t begin, std::int64_t end) { sum += static_cast<int>(end - begin); });
  return sum;
}

TEST_F(ParallelFor, WorksInAForkedProcess) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not support threads in a forked process";
#endif
  set_num_threads(3);
  EXPECT_EQ(sum_in_parallel(), 10);
  EXPECT_EQ(exit_code_of_fork([] { return 0; }), 0) << "the process ends without joining threads it does not have";
  EXPECT_EQ(exit_code_of_fork(sum_in_parallel), 10);
  EXPECT_EQ(sum_in_parallel(), 10);
}

TEST_F(ParallelFor, RunsInOneThreadIfTheSystemStartsNoOther) {
  constexpr int kNoFilter = 77;
  set_num_threads(4);
  const auto run = [] { return forbid_threads() ? sum_in_parallel() : kNoFilter; };
  const int exit_code = exit_code_of_fork(run);
  if (exit_code == kNoFilter) GTEST_SKIP() << "this system has no seccomp filters";
  EXPECT_EQ(exit_code, 10);
}

TEST_F(ParallelFor, RethrowsTheExceptionOfTheFirstRangeAfterAllRanges) {
  set_num_threads(4);
  std::atomic<int> done = 0;
  const auto act = [&] {
    parallel_for(16, 1, [&](std::int64_t begin, std::int64_t) {
      ++done;
      if (begin >= 2) fail("range {}", begin);
    });
  };
  EXPECT_EQ(error_of(act), "range 2");
  EXPECT_EQ(done, 16);
}

TEST_F(ParallelFor, UsesTheNumberOfThreadsThatWasSet) {
  set_num_threads(5);
  EXPECT_EQ(num_threads(), 5);
  EXPECT_EQ(error_of([] { set_num_threads(0); }), "set_num_threads: n is 0, needs at least 1");
}

TEST(AvailableCores, AreBetweenOneAndTheMachinesCores) {
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), omp_get_num_procs());
}

// A folder with the control group files of Linux.
class CgroupCores : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root / name).parent_path());
    write_file_atomically(root / name, text);
  }

  TemporaryFolder root;
};

TEST_F(CgroupCores, ReturnsNothingWithoutAQuota) {
  EXPECT_EQ(cgroup_cores(root.path()), std::nullopt);
  put("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(cgroup_cores(root.path()), std::nullopt);
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cores(root.path()), std::nullopt);
}

TEST_F(CgroupCores, ReturnsTheSmallestQuotaOfTheGroupAndItsParentsInVersion2) {
  put("proc/self/cgroup", "0::/pod/container\n");
  put("sys/fs/cgroup/pod/container/cpu.max", "800000 100000\n");
  EXPECT_EQ(cgroup_cores(root.path()), 8);
  put("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cores(root.path()), 2);
}

TEST_F(CgroupCores, ReadsTheTopGroupIfAContainerHidesTheGroup) {
  put("proc/self/cgroup", "0::/../../elsewhere\n");
  put("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(cgroup_cores(root.path()), 3);
}

TEST_F(CgroupCores, ReadsVersion1) {
  put("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cores(root.path()), std::nullopt);
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(cgroup_cores(root.path()), 1);
}

}  // namespace
}  // namespace edgewise
