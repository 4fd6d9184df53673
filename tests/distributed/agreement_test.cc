// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/distributed/process_threads.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

TEST(Agreement, IsSetIfAnyProcessSetsIt) {
  for (std::int64_t setter = 0; setter < 3; ++setter) {
    run_as_processes(3, [&](ProcessGroup& processes) {
      EXPECT_TRUE(is_any_set(processes, processes.rank() == setter));
      EXPECT_FALSE(is_any_set(processes, false));
    });
  }
  EXPECT_TRUE(is_any_set(single_process(), true));
}

TEST(Agreement, WorksInTheFirstProcessAlone) {
  std::vector<int> calls(3);
  run_as_processes(3, [&](ProcessGroup& processes) {
    on_first_process(processes, [&] { ++calls[static_cast<std::size_t>(processes.rank())]; });
  });
  EXPECT_EQ(calls, std::vector<int>({1, 0, 0}));
}

TEST(Agreement, GivesAllProcessesTheErrorOfTheFirst) {
  run_as_processes(3, [](ProcessGroup& processes) {
    EXPECT_THAT([&] { on_first_process(processes, [] { throw Error("the disk is full"); }); },
                ThrowsMessage<CollectiveError>("the disk is full"));
  });
}

TEST(Agreement, GivesAllProcessesTheErrorOfOne) {
  run_as_processes(3, [](ProcessGroup& processes) {
    const auto fail_in_second = [&] {
      if (processes.rank() == 1) throw Error("no such file");
    };
    EXPECT_THAT([&] { in_all_processes(processes, fail_in_second); },
                ThrowsMessage<CollectiveError>("no such file (rank 1)"));
    EXPECT_THAT([&] { in_all_processes(processes, [] { throw Error("no such option"); }); },
                ThrowsMessage<CollectiveError>("no such option"));
    bool is_done = false;
    in_all_processes(processes, [&] { is_done = true; });
    EXPECT_TRUE(is_done);
  });
}

TEST(Agreement, OfOneProcessThrowsTheErrorItself) {
  class OwnError : public Error {
    using Error::Error;
  };
  const auto fail = [] { throw OwnError("own"); };
  EXPECT_THROW(on_first_process(single_process(), fail), OwnError);
  EXPECT_THROW(in_all_processes(single_process(), fail), OwnError);
}

}  // namespace
}  // namespace edgewise
