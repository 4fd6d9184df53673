// SPDX-License-Identifier: Apache-2.0
// What becomes of a run whose files fail, at each call to the system in turn.
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
#include "tests/train/run_of.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

class FaultsTest : public RunFolder {
 protected:
  std::filesystem::path whole() const { return folder() / "whole"; }
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

  /// Calls that a run makes when none fails.
  std::int64_t num_calls(Faults faults = {}) const {
    std::filesystem::remove_all(whole());
    FaultyFileSystem files(faults);
    const ReplacedFileSystem replaced(files);
    RunOf(whole(), options()).start();
    return files.num_calls();
  }

  /// Trains with faults: what the run ended with.
  static std::string train(RunOf& run, const Faults& faults) {
    FaultyFileSystem files(faults);
    const ReplacedFileSystem replaced(files);
    return error_of([&] { run.start(); });
  }

  static std::int64_t newest_saved(const RunOf& run) {
    std::int64_t newest = -1;
    for (const auto& [step, name] : run.saves) {
      if (name == "last") newest = std::max(newest, step);
    }
    return newest;
  }

  /// Begins a run with faults, goes on with it when they are over, and expects nothing to be lost and no bit to differ
  /// from the whole run.
  void expect_nothing_lost(const Faults& faults) const {
    SCOPED_TRACE(fmt::format("call {} fails with {}", faults.first, faults.error));
    std::filesystem::remove_all(faulty());
    std::int64_t newest = -1;
    {
      RunOf run(faulty(), options());
      train(run, faults);
      newest = newest_saved(run);
    }
    const bool has_checkpoint = exists(faulty() / "last") || exists(faulty() / "previous");
    ASSERT_TRUE(has_checkpoint || newest < 0);

    FaultyFileSystem files({});
    const ReplacedFileSystem replaced(files);
    RunOf after(faulty(), options());
    if (has_checkpoint) {
      after.trainer.resume();
      EXPECT_GE(after.trainer.state().step, newest);
    }
    EXPECT_EQ(after.trainer.run(after.requests), Outcome::kFinished);
    expect_same_run(faulty(), whole());
    EXPECT_EQ(names_in(faulty()), names_in(whole()));
  }
};

TEST_F(FaultsTest, OfOneCallLoseNoCheckpoint) {
  const std::int64_t calls = num_calls();
  for (std::int64_t call = 1; call <= calls; ++call) {
    expect_nothing_lost({.first = call, .error = call % 2 == 0 ? EIO : ENOSPC});
  }
}

TEST_F(FaultsTest, ThatLastLoseNoCheckpoint) {
  const std::int64_t calls = num_calls();
  for (std::int64_t call = 1; call <= calls; ++call) {
    expect_nothing_lost({.first = call, .are_lasting = true, .error = call % 2 == 0 ? ENOSPC : EIO});
  }
}

TEST_F(FaultsTest, LoseNoCheckpointWhereDirectoriesCannotBeSwapped) {
  const std::int64_t calls = num_calls({.can_exchange = false});
  for (std::int64_t call = 1; call <= calls; ++call) {
    expect_nothing_lost({.first = call, .are_lasting = true, .can_exchange = false});
  }
}

TEST_F(FaultsTest, OfWritesThatAreShortAreNone) {
  num_calls();
  RunOf run(faulty(), options());
  EXPECT_EQ(train(run, {.writes_are_short = true}), "no error");
  expect_same_run(faulty(), whole());
  EXPECT_TRUE(run.warnings.empty());
}

}  // namespace
}  // namespace edgewise
