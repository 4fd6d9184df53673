// SPDX-License-Identifier: Apache-2.0
// Tests runs in which file system calls fail: one test run for each call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "tests/support/error_of.h"
#include "tests/support/faulty_file_system.h"
#include "tests/train/run_folder.h"
#include "tests/train/same_run.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

class FaultsTest : public RunFolder {
 protected:
  std::filesystem::path faultless() const { return folder() / "faultless"; }
  std::filesystem::path faulty() const { return folder() / "faulty"; }

  static TrainOptions options() {
    TrainOptions options = short_run();
    options.epochs = 0;
    options.steps = 6;
    options.log_every = 2;
    options.validate_every = 3;
    options.save_every = 2;
    options.keep_best = 1;
    options.average = 0.5;
    return options;
  }

  /// Counts the file system calls of a run without failures.
  std::int64_t count_calls(Faults faults = {}) const {
    std::filesystem::remove_all(faultless());
    FaultyFileSystem files(faults);
    const ScopedFileSystem replaced(files);
    TestRun(faultless(), options()).start();
    return files.num_calls();
  }

  /// Trains with faults and returns the error message of the run.
  static std::string train(TestRun& run, const Faults& faults) {
    FaultyFileSystem files(faults);
    const ScopedFileSystem replaced(files);
    return error_of([&] { run.start(); });
  }

  static std::int64_t find_newest_save(const TestRun& run) {
    std::int64_t newest = -1;
    for (const auto& [step, name] : run.saves) {
      if (name == "last") newest = std::max(newest, step);
    }
    return newest;
  }

  /// Begins a run with faults, resumes the run without faults, and expects that no checkpoint was lost and that the
  /// result has the same bits as the faultless run.
  void expect_nothing_lost(const Faults& faults) const {
    SCOPED_TRACE(fmt::format("call {} fails with {}", faults.first, faults.error));
    std::filesystem::remove_all(faulty());
    std::int64_t newest = -1;
    {
      TestRun run(faulty(), options());
      train(run, faults);
      newest = find_newest_save(run);
    }
    const bool has_checkpoint = exists(faulty() / "last") || exists(faulty() / "previous");
    ASSERT_TRUE(has_checkpoint || newest < 0);

    FaultyFileSystem files({});
    const ScopedFileSystem replaced(files);
    TestRun after(faulty(), options());
    if (has_checkpoint) {
      after.trainer.resume();
      EXPECT_GE(after.trainer.state().step, newest);
    }
    EXPECT_EQ(after.trainer.run(after.requests), Outcome::kFinished);
    expect_same_run(faulty(), faultless());
    EXPECT_EQ(names_in(faulty()), names_in(faultless()));
  }
};

TEST_F(FaultsTest, OfASingleCallLoseNoCheckpoint) {
  const std::int64_t calls = count_calls();
  for (std::int64_t call = 1; call <= calls; ++call) {
    expect_nothing_lost({.first = call, .error = call % 2 == 0 ? EIO : ENOSPC});
  }
}

TEST_F(FaultsTest, OfAllCallsAfterTheFirstLoseNoCheckpoint) {
  const std::int64_t calls = count_calls();
  for (std::int64_t call = 1; call <= calls; ++call) {
    expect_nothing_lost({.first = call, .are_lasting = true, .error = call % 2 == 0 ? ENOSPC : EIO});
  }
}

TEST_F(FaultsTest, LoseNoCheckpointWhereDirectoriesCannotBeExchanged) {
  const std::int64_t calls = count_calls({.can_exchange = false});
  for (std::int64_t call = 1; call <= calls; ++call) {
    expect_nothing_lost({.first = call, .are_lasting = true, .can_exchange = false});
  }
}

TEST_F(FaultsTest, DoNotIncludeShortWrites) {
  count_calls();
  TestRun run(faulty(), options());
  EXPECT_EQ(train(run, {.writes_are_short = true}), "no error");
  expect_same_run(faulty(), faultless());
  EXPECT_TRUE(run.warnings.empty());
}

}  // namespace
}  // namespace edgewise
