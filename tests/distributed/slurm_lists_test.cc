// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/slurm_lists.h"

#include <gtest/gtest.h>

namespace edgewise {
namespace {

TEST(SlurmLists, BeginWithTheFirstHost) {
  EXPECT_EQ(first_host("x"), "x");
  EXPECT_EQ(first_host("x,y"), "x");
  EXPECT_EQ(first_host("node[01-04,07],x"), "node01");
  EXPECT_EQ(first_host("node[7,09]"), "node7");
  EXPECT_EQ(first_host("gpu-a[003].cluster,b"), "gpu-a003.cluster");
  EXPECT_EQ(first_host("rack[1-2]node[3-4]"), "rack1node3");
}

TEST(SlurmLists, HaveNoFirstHostInAnotherForm) {
  for (const char* hosts : {"", ",x", "node[", "node[]", "node[1-2", "node]1", "node[1[2]]", "node[-2]"}) {
    EXPECT_EQ(first_host(hosts), std::nullopt) << hosts;
  }
}

TEST(SlurmLists, CountTheTasksOfEachMachine) {
  EXPECT_EQ(tasks_of_machine("4", 0), 4);
  EXPECT_EQ(tasks_of_machine("4(x2),3", 0), 4);
  EXPECT_EQ(tasks_of_machine("4(x2),3", 1), 4);
  EXPECT_EQ(tasks_of_machine("4(x2),3", 2), 3);
  EXPECT_EQ(tasks_of_machine("1,2,3(x10)", 11), 3);
}

TEST(SlurmLists, HaveNoTasksOfAMachineBehindTheirEndOrInAnotherForm) {
  EXPECT_EQ(tasks_of_machine("4(x2),3", 3), std::nullopt);
  for (const char* tasks : {"", "x", "0", "4(x)", "4(x0)", "4(2)", "4(x2", ",4", "4(x2)3"}) {
    EXPECT_EQ(tasks_of_machine(tasks, 0), std::nullopt) << tasks;
  }
}

}  // namespace
}  // namespace edgewise
