// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <regex>

#include "edgewise/base/cgroup.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/memory.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

// A folder with the files in which Linux describes memory.
class AvailableMemory : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root / name).parent_path());
    write_file_atomically(root / name, text);
  }

  TemporaryFolder root;
};

TEST_F(AvailableMemory, HasNoLimitOfTheControlGroupWithoutALimit) {
  EXPECT_EQ(cgroup_memory(root.path()), std::nullopt);
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "max\n");
  put("sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(cgroup_memory(root.path()), std::nullopt);
}

TEST_F(AvailableMemory, CountsThePageCacheAsFree) {
  put("proc/self/cgroup", "0::/pod/container\n");
  put("sys/fs/cgroup/pod/container/memory.max", "9000\n");
  put("sys/fs/cgroup/pod/container/memory.current", "5000\n");
  EXPECT_EQ(cgroup_memory(root.path()), 4000);
  put("sys/fs/cgroup/pod/container/memory.stat", "anon 3000\nfile 2000\nshmem 500\n");
  EXPECT_EQ(cgroup_memory(root.path()), 5500);
  put("sys/fs/cgroup/pod/memory.max", "8000\n");
  put("sys/fs/cgroup/pod/memory.current", "9000\n");
  EXPECT_EQ(cgroup_memory(root.path()), 0);
}

TEST_F(AvailableMemory, ReadsVersion1OfControlGroups) {
  put("proc/self/cgroup", "4:memory:/docker/abc\n");
  put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(cgroup_memory(root.path()), std::nullopt);
  put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "5000\n");
  EXPECT_EQ(cgroup_memory(root.path()), 4000);
}

TEST_F(AvailableMemory, IsTheSmallestOfMachineAndControlGroup) {
  put("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:  4000 kB\nHugePages_Total:  0\nSwapFree:  1000 kB\n");
  EXPECT_EQ(available_memory(root.path()), 5000 * 1024);
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "7000\n");
  put("sys/fs/cgroup/memory.current", "5000\n");
  EXPECT_EQ(available_memory(root.path()), 2000);
}

TEST(RequireMemory, SaysWhatIsNeededAndWhatThereIs) {
  EXPECT_EQ(error_of([] { require_memory(1, "train: it", "take less"); }), "no error");
  const std::string error = error_of([] { require_memory(1e18, "train: it", "take less"); });
  EXPECT_TRUE(std::regex_match(
      error, std::regex("train: it needs at least 1.0 EB of memory, but [0-9.]+ [MGT]B are available; take less")))
      << error;
  EXPECT_EQ(memory_text(12), "12 bytes");
  EXPECT_EQ(memory_text(999.9e6), "999.9 MB");
  EXPECT_EQ(memory_text(999.96e6), "1.0 GB");
}

}  // namespace
}  // namespace edgewise
