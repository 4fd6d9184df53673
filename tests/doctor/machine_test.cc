// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/base/files/files.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A folder with the files in which Linux describes a machine.
class MachineFiles : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root / name).parent_path());
    write_file_atomically(root / name, text);
  }

  TemporaryFolder root;
};

TEST_F(MachineFiles, NameAProcessorOfX86WithItsNumbersAndInstructions) {
  put("proc/cpuinfo",
      "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7713\nstepping\t: 2\n"
      "flags\t\t: fpu avx512f avx2 fma sse4_2 avx_unknown\n\nprocessor\t: 1\nmodel name\t: another\n");
  const Machine machine = examine_machine(root.path());
  EXPECT_EQ(machine.processor, "AMD EPYC 7713 (family 25, model 1, stepping 2)");
  EXPECT_THAT(machine.instructions, ElementsAre("sse4_2", "fma", "avx2", "avx512f"));
}

TEST_F(MachineFiles, NameAProcessorOfArmByItsPart) {
  put("proc/cpuinfo",
      "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd bf16 sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
  const Machine machine = examine_machine(root.path());
  EXPECT_TRUE(machine.processor.ends_with(" (implementer 0x41, part 0xd40)")) << machine.processor;
  EXPECT_THAT(machine.instructions, ElementsAre("asimd", "bf16", "sve"));
}

TEST_F(MachineFiles, MayBeAbsent) {
  const Machine machine = examine_machine(root.path());
  EXPECT_NE(machine.processor, "");
  EXPECT_THAT(machine.instructions, IsEmpty());
  EXPECT_EQ(machine.memory, 0);
  EXPECT_EQ(machine.quota_cores, std::nullopt);
  EXPECT_EQ(machine.group_memory, std::nullopt);
}

TEST_F(MachineFiles, TellMemoryAndTheLimitsOfTheControlGroup) {
  put("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:  4000 kB\nSwapFree:  0 kB\n");
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "7000\n");
  put("sys/fs/cgroup/memory.current", "3000\n");
  put("sys/fs/cgroup/cpu.max", "150000 100000\n");
  const Machine machine = examine_machine(root.path());
  EXPECT_EQ(machine.memory, 9000 * 1024);
  EXPECT_EQ(machine.available_memory, 4000);
  EXPECT_EQ(machine.group_memory, 4000);
  EXPECT_EQ(machine.quota_cores, 2);
}

}  // namespace
}  // namespace edgewise
