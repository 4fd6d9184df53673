// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/threads.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <thread>
#include <vector>

#include "edgewise/base/files.h"
#include "tests/base/support.h"

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
  EXPECT_EQ(parts_of(10, 1), (Parts{{0, 4}, {4, 7}, {7, 10}}));
  EXPECT_EQ(parts_of(10, 5), (Parts{{0, 5}, {5, 10}}));
  EXPECT_EQ(parts_of(10, 6), (Parts{{0, 10}}));
  EXPECT_EQ(parts_of(2, 0), (Parts{{0, 1}, {1, 2}}));
  EXPECT_EQ(parts_of(0, 1), (Parts{}));
  EXPECT_EQ(parts_of(-3, 1), (Parts{}));
}

TEST_F(ParallelFor, SplitsEquallyInsideAnotherParallelFor) {
  set_num_threads(3);
  std::vector<Parts> inside(2);
  parallel_for(2, 1,
               [&](std::int64_t begin, std::int64_t) { inside[static_cast<std::size_t>(begin)] = parts_of(10, 1); });
  EXPECT_EQ(inside, std::vector<Parts>(2, parts_of(10, 1)));
}

TEST_F(ParallelFor, RunsOnSeveralThreads) {
  set_num_threads(2);
  std::vector<std::thread::id> threads(2);
  parallel_for(2, 1, [&](std::int64_t begin, std::int64_t) {
    threads[static_cast<std::size_t>(begin)] = std::this_thread::get_id();
  });
  EXPECT_NE(threads[0], threads[1]);
}

TEST_F(ParallelFor, RethrowsTheExceptionOfTheFirstRangeAfterAllRanges) {
  set_num_threads(4);
  std::atomic<int> done = 0;
  const auto act = [&] {
    parallel_for(4, 1, [&](std::int64_t begin, std::int64_t) {
      ++done;
      if (begin >= 2) fail("range {}", begin);
    });
  };
  EXPECT_EQ(error_of(act), "range 2");
  EXPECT_EQ(done, 4);
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
