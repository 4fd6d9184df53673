// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/distributed/forked_group.h"
#include "tests/distributed/process_group_contract.h"
#include "tests/distributed/process_threads.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

TEST(ProcessGroup, OfOneProcessExchangesWithItself) {
  EXPECT_EQ(single_process().size(), 1);
  EXPECT_EQ(single_process().rank(), 0);
  // In a process of its own, because large copies start threads, and other tests fork this process.
  RunningProcess process = fork_process([] { expect_contract(single_process()); });
  expect_success(process);
}

TEST(ProcessGroup, OfThreadsKeepsTheContract) {
  for (const std::int64_t size : {2, 3, 4}) {
    RunningProcess process = fork_process([size] { run_as_processes(size, expect_contract); });
    expect_success(process);
  }
}

TEST(ProcessGroup, GathersBytesOfDifferentSizes) {
  run_as_processes(3, [](ProcessGroup& processes) {
    const std::string own(static_cast<std::size_t>(processes.rank()), 'x');
    EXPECT_THAT(all_gather_bytes(processes, own), ElementsAre("", "x", "xx"));
    EXPECT_THAT(all_gather_bytes(processes, ""), ElementsAre("", "", ""));
  });
  EXPECT_THAT(all_gather_bytes(single_process(), "a"), ElementsAre("a"));
}

TEST(ProcessGroup, BroadcastsTheBytesOfTheRoot) {
  run_as_processes(3, [](ProcessGroup& processes) {
    const std::string own(10 + static_cast<std::size_t>(processes.rank()), 'x');
    EXPECT_EQ(broadcast_bytes(processes, own), std::string(10, 'x'));
    EXPECT_EQ(broadcast_bytes(processes, own, 2), std::string(12, 'x'));
    EXPECT_EQ(broadcast_bytes(processes, ""), "");
  });
}

TEST(PackedStrings, AreUnpackedAsTheyWere) {
  const std::vector<std::string> strings = {"", "a", std::string("\0b", 2), std::string(1000, 'x')};
  EXPECT_EQ(unpack_strings(pack_strings(strings)), strings);
  EXPECT_THAT(unpack_strings(""), testing::IsEmpty());
}

TEST(PackedStrings, AreRefusedWhenTheyAreCut) {
  const std::string bytes = pack_strings({"abc"});
  EXPECT_EQ(error_of([&] { unpack_strings(bytes.substr(0, 10)); }),
            "unpack_strings: bytes have 10 after byte 0, needs a whole string");
  EXPECT_EQ(error_of([&] { unpack_strings(bytes + "x"); }),
            "unpack_strings: bytes have 1 after byte 11, needs a whole string");
}

}  // namespace
}  // namespace edgewise
