// SPDX-License-Identifier: Apache-2.0
// Tests runs in which file system calls fail: for each kind of fault, one run for each 23rd call of a run that saves
// five checkpoints. With EDGEWISE_FAULTS_TABLE=FILE (scripts/soak faults), tests every call, and appends the number of
// runs and their results to the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/faulty_file_system.h"
#include "tests/train/run_folder.h"
#include "tests/train/same_run.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

constexpr const char* kTable = "EDGEWISE_FAULTS_TABLE";

struct FaultKind {
  const char* name;
  Faults faults;
  bool cuts_power = false;
};

const std::array kKinds = {
    FaultKind{.name = "one call: no space", .faults = {.error = ENOSPC}},
    FaultKind{.name = "one call: I/O error", .faults = {.error = EIO}},
    FaultKind{.name = "one call: short write", .faults = {.is_short_write = true}},
    FaultKind{.name = "all later calls: no space", .faults = {.are_lasting = true, .error = ENOSPC}},
    FaultKind{.name = "power cut", .faults = {.are_lasting = true}, .cuts_power = true},
    FaultKind{.name = "one call: I/O error, no exchange", .faults = {.can_exchange = false}},
    FaultKind{
        .name = "power cut, no exchange", .faults = {.are_lasting = true, .can_exchange = false}, .cuts_power = true},
};

/// The ends of the runs in which one kind of call failed.
struct Ends {
  int without_error = 0;
  int with_error = 0;
};

/// Trains, or resumes a run that trained some of its steps.
class FaultsTest : public RunFolder, public testing::WithParamInterface<FaultKind> {
 protected:
  std::filesystem::path first_part() const { return folder() / "first_part"; }
  std::filesystem::path faultless() const { return folder() / "faultless"; }
  std::filesystem::path faulty() const { return folder() / "faulty"; }

  /// Returns options with which a log is due at every second step, and a validation at every third.
  static TrainOptions options(std::int64_t steps) {
    TrainOptions options = short_run();
    options.epochs = 0;
    options.steps = steps;
    options.log_every = 2;
    options.validate_every = 3;
    options.save_every = 2;
    options.keep_best = 1;
    options.average = 0.5;
    return options;
  }

  static bool has_checkpoint(const std::filesystem::path& run) {
    return exists(run / "last") || exists(run / "previous");
  }

  static void train(TestRun& run) {
    if (has_checkpoint(run.folder)) run.trainer.resume();
    EXPECT_EQ(run.start(), Outcome::kFinished);
  }

  /// Puts the first part of the run, if there is one, into a folder.
  void begin(const std::filesystem::path& run) const {
    std::filesystem::remove_all(run);
    if (exists(first_part())) std::filesystem::copy(first_part(), run, std::filesystem::copy_options::recursive);
  }

  /// Trains without failures and returns the number of file system calls.
  std::int64_t count_calls(const Faults& faults) const {
    begin(faultless());
    FaultyFileSystem files(faults);
    const ScopedFileSystem replaced(files);
    TestRun run(faultless(), options(steps_));
    train(run);
    return files.num_calls();
  }

  static std::int64_t find_newest_save(const TestRun& run) {
    std::int64_t newest = -1;
    for (const auto& [step, name] : run.saves) {
      if (name == "last") newest = std::max(newest, step);
    }
    return newest;
  }

  /// Trains with faults. Expects the result of the faultless run if the run ends without an error. Returns the step of
  /// the newest reported save; -1 if there is none.
  std::int64_t train_with(const Faults& faults) {
    FaultyFileSystem files(faults);
    std::int64_t newest = -1;
    std::string error;
    {
      const ScopedFileSystem replaced(files);
      TestRun run(faulty(), options(steps_));
      error = error_of([&] { train(run); });
      newest = find_newest_save(run);
    }
    if (GetParam().cuts_power) files.cut_power();
    if (!files.failed_call().empty()) {
      Ends& ends = ends_[files.failed_call()];
      ++(error == "no error" ? ends.without_error : ends.with_error);
    }
    if (error == "no error") expect_same_run(faulty(), faultless());
    return newest;
  }

  /// Trains with faults, resumes the run without faults, and expects that no checkpoint was lost and that the result
  /// has the same bits as the faultless run.
  void expect_nothing_lost(const Faults& faults) {
    SCOPED_TRACE(fmt::format("call {} of {} fails", faults.first, static_cast<int>(faults.calls_of)));
    begin(faulty());
    const std::int64_t newest = train_with(faults);
    ASSERT_TRUE(has_checkpoint(faulty()) || (newest < 0 && !exists(first_part())));

    TestRun after(faulty(), options(steps_));
    train(after);
    EXPECT_TRUE(after.steps.empty() || after.steps.front().step > newest);
    expect_same_run(faulty(), faultless());
    EXPECT_EQ(names_in(faulty()), names_in(faultless()));
  }

  /// Expects that nothing is lost whichever call of a run of `steps` steps fails, or if the power is cut after the run.
  void fail_each_call(std::int64_t steps) {
    steps_ = steps;
    Faults faults = GetParam().faults;
    if (GetParam().cuts_power) faults.removed_files = folder() / "removed";
    for (const CallsOf threads : {CallsOf::kThisThread, CallsOf::kOtherThreads}) {
      faults.calls_of = threads;
      faults.first = std::numeric_limits<std::int64_t>::max();
      const std::int64_t calls = count_calls(faults);
      ASSERT_GT(calls, 0);
      const std::int64_t stride = std::getenv(kTable) == nullptr ? 23 : 1;
      for (faults.first = 1; faults.first <= calls && !HasFailure(); faults.first += stride) {
        expect_nothing_lost(faults);
      }
      faults.first = calls + 1;
      if (GetParam().cuts_power) expect_nothing_lost(faults);
    }
    append_to_table();
  }

  /// Trains the first part of the run. Its last validation is not due, and gives the best model.
  void train_first_part() const {
    TestRun run(first_part(), options(4));
    train(run);
    ASSERT_TRUE(exists(first_part() / "best-scheduled"));  // which the resumed run puts back
  }

  static constexpr std::int64_t kDue = 6;     // a last step that is logged and validated anyway
  static constexpr std::int64_t kNotDue = 7;  // one that is logged and validated only because it is the last

 private:
  void append_to_table() const {
    const char* table = std::getenv(kTable);
    if (table == nullptr) return;
    std::ofstream file(table, std::ios::app);
    for (const auto& [call, ends] : ends_) {
      file << fmt::format("{}\t{}\t{}\t{}\n", GetParam().name, call, ends.without_error, ends.with_error);
    }
  }

  std::int64_t steps_ = 0;
  std::map<std::string, Ends> ends_;
};

TEST_P(FaultsTest, OfAnyCallLoseNoCheckpointAndNoError) { fail_each_call(kNotDue); }
TEST_P(FaultsTest, OfAnyCallOfARunThatEndsWithADueValidationLoseNothing) { fail_each_call(kDue); }

TEST_P(FaultsTest, OfAnyCallOfAResumedRunLoseNoCheckpointAndNoError) {
  train_first_part();
  fail_each_call(kNotDue);
}

TEST_P(FaultsTest, OfAnyCallOfAResumedRunThatEndsWithADueValidationLoseNothing) {
  train_first_part();
  fail_each_call(kDue);
}

INSTANTIATE_TEST_SUITE_P(AllKinds, FaultsTest, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::to_string(kind.index); });

class ShortWritesTest : public RunFolder {};

TEST_F(ShortWritesTest, DoNotChangeTheRun) {
  TrainOptions options = short_run();
  TestRun whole(folder() / "whole", options);
  whole.start();
  FaultyFileSystem files({.writes_are_short = true});
  const ScopedFileSystem replaced(files);
  TestRun run(folder() / "short", options);
  EXPECT_EQ(run.start(), Outcome::kFinished);
  EXPECT_TRUE(run.warnings.empty());
  expect_same_run(run.folder, whole.folder);
}

}  // namespace
}  // namespace edgewise
