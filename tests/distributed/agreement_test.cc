// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/agreement.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "edgewise/base/stop_request.h"
#include "tests/distributed/forked_group.h"
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

TEST(Agreement, StopsInAllProcessesIfOneStops) {
  run_as_processes(3, [](ProcessGroup& processes) {
    const auto stop_in_second = [&] {
      if (processes.rank() == 1) throw StopException();
    };
    EXPECT_THROW(stop_together(processes, stop_in_second), StopException);
    bool is_done = false;
    stop_together(processes, [&] { is_done = true; });
    EXPECT_TRUE(is_done);
  });
  EXPECT_THROW(stop_together(single_process(), [] { throw StopException(); }), StopException);
}

TEST(Agreement, OfOneProcessThrowsTheErrorItself) {
  class OwnError : public Error {
    using Error::Error;
  };
  const auto fail = [] { throw OwnError("own"); };
  EXPECT_THROW(on_first_process(single_process(), fail), OwnError);
  EXPECT_THROW(in_all_processes(single_process(), fail), OwnError);
}

using Values = std::vector<std::pair<std::string, std::string>>;

/// Returns the error text that all of several processes have in common.
std::string error_of_values(const std::vector<Values>& of_ranks) {
  const std::vector<std::string> errors = run_group(std::ssize(of_ranks), [&](ProcessGroup& processes) {
    std::string text = "no error";
    try {
      check_same(processes, of_ranks[static_cast<std::size_t>(processes.rank())]);
    } catch (const CollectiveError& error) {
      text = error.what();
    }
    std::fputs(text.c_str(), stdout);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
  return errors[0];
}

TEST(CheckSame, AcceptsEqualValues) {
  const Values values{{"version", "1.2"}, {"config", "a = 1\nb = 2\n"}, {"empty", ""}};
  EXPECT_EQ(error_of_values({values, values, values}), "no error");
  check_same(single_process(), values);
}

TEST(CheckSame, NamesTheFirstProcessThatDiffersAndBothValues) {
  EXPECT_EQ(error_of_values({{{"version", "1.2"}, {"config", "x"}},
                             {{"version", "1.2"}, {"config", "y"}},
                             {{"version", "1.3"}, {"config", "x"}}}),
            "check_same: the version of rank 2 differs from that of rank 0, needs the same in all processes; the value "
            "is \"1.2\" in rank 0 and \"1.3\" in rank 2");
}

TEST(CheckSame, ShowsTheFirstLineThatDiffers) {
  EXPECT_EQ(error_of_values({{{"config", "seed = 1\nsteps = 100\nwarmup = 4\n"}},
                             {{"config", "seed = 1\nsteps = 200\nwarmup = 5\n"}}}),
            "check_same: the config of rank 1 differs from that of rank 0, needs the same in all processes; line 2 is "
            "\"steps = 100\" in rank 0 and \"steps = 200\" in rank 1");
}

TEST(CheckSame, ReportsALineThatOneProcessLacks) {
  EXPECT_EQ(error_of_values({{{"config", "a\nb"}}, {{"config", "a\n"}}}),
            "check_same: the config of rank 1 differs from that of rank 0, needs the same in all processes; line 2 is "
            "\"b\" in rank 0 and \"\" in rank 1");
}

TEST(CheckSame, ReportsValuesThatDifferOnlyInTheirLastNewline) {
  EXPECT_EQ(error_of_values({{{"config", "a\n"}}, {{"config", "a"}}}),
            "check_same: the config of rank 1 differs from that of rank 0, needs the same in all processes; line 2 is "
            "\"\" in rank 0 and missing in rank 1");
}

constexpr std::size_t kNumPieces = 7;

std::vector<std::string> texts_of(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> texts;
  for (const std::size_t number : numbers) texts.push_back(std::string(number, 'x'));
  return texts;
}

at::Tensor rows_of(const std::vector<std::size_t>& numbers) {
  at::Tensor rows = at::zeros({std::ssize(numbers), 2}, at::kDouble);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    rows[static_cast<std::int64_t>(i)].fill_(0.1 * static_cast<double>(numbers[i]));
  return rows;
}

TEST(SharedWork, HasTheResultsOfOneProcessInEachOfSeveral) {
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6};
  for (const std::int64_t size : {1, 2, 3, 9}) {  // 9: processes without a piece
    run_as_processes(size, [&](ProcessGroup& processes) {
      EXPECT_EQ(share_texts(processes, kNumPieces, texts_of), texts_of(all));
      const at::Tensor rows = share_rows(processes, kNumPieces, rows_of);
      EXPECT_TRUE(rows.equal(rows_of(all)));
      EXPECT_TRUE(rows.is_contiguous());
    });
  }
}

TEST(SharedWork, StopsInAllProcessesIfOneStops) {
  run_as_processes(3, [](ProcessGroup& processes) {
    const auto stop_in_last = [&](const std::vector<std::size_t>& numbers) {
      if (processes.rank() == 2) throw StopException();
      return rows_of(numbers);
    };
    EXPECT_THROW(share_rows(processes, kNumPieces, stop_in_last), StopException);
  });
}

}  // namespace

}  // namespace edgewise
