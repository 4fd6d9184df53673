// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/check_same.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/distributed/forked_group.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

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

}  // namespace
}  // namespace edgewise
