// SPDX-License-Identifier: Apache-2.0
// Runs whose saves fail: a full disk, a file that cannot be synced, parameters that are not finite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <optional>
#include <thread>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/train/trainer.h"
#include "tests/support/error_of.h"
#include "tests/train/file_size_limit.h"
#include "tests/train/two_runs.h"

namespace edgewise {
namespace {

using testing::HasSubstr;

class FailedSavesTest : public TwoRuns {};

TEST_F(FailedSavesTest, EndsAfterThreeFailedSavesInARow) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 500;
  options.log_every = options.validate_every = 500;
  options.save_every = 5;
  TestRun run(first_folder(), options);
  std::optional<FileSizeLimit> limit;
  run.after_step = [&](const StepReport&) {
    if (!run.saves.empty() && !limit) limit.emplace(100);
  };

  const std::string error = error_of([&] { run.start(); });

  limit.reset();
  EXPECT_THAT(error,
              HasSubstr(fmt::format("File too large; nothing was replaced; the last saved step is {}; 3 saves in "
                                    "a row have failed",
                                    run.saves.back().first)));
  EXPECT_EQ(run.warnings.size(), 2U);
  EXPECT_LT(run.steps.back().step, options.steps);
  EXPECT_EQ(restore_last(first_folder()), "");
  EXPECT_EQ(read_last_state(first_folder(), "next_token").step, run.saves.back().first);
}

TEST_F(FailedSavesTest, ContinuesAfterAFailedSaveAndSavesTheNextTime) {
  TrainOptions options = short_run();
  options.save_every = 2;
  options.log_every = 100;  // else writing metrics.jsonl may fail first
  TestRun never_failed(first_folder(), options);
  never_failed.start();

  TestRun failed(second_folder(), options);
  std::optional<FileSizeLimit> limit;
  failed.after_step = [&](const StepReport& report) {
    if (report.step == 1) limit.emplace(100);
    if (!failed.warnings.empty()) limit.reset();
  };
  EXPECT_EQ(failed.start(), Outcome::kFinished);

  ASSERT_FALSE(failed.warnings.empty());
  EXPECT_THAT(
      failed.warnings[0].second,
      HasSubstr("File too large; nothing was replaced; the last saved step is 0; training goes on, and the next "
                "save tries again"));
  expect_same(failed, never_failed);
}

TEST_F(FailedSavesTest, SavesAFailedStateBeforeItEndsWithParametersThatAreNotFinite) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 1'000'000;
  options.save_every = 1000;
  options.validate_every = options.log_every = 1'000'000;
  TestRun run(first_folder(), options);
  std::optional<FileSizeLimit> limit;
  run.after_step = [&](const StepReport& report) {
    if (report.step == 2) limit.emplace(100);
    if (report.step == 3) run.requests.save = true;
    if (run.warnings.empty() || !limit) return;  // the state of step 3 waits
    limit.reset();
    run.task.bias().detach().fill_(std::nan(""));
    run.requests.save = true;
  };

  EXPECT_THAT(error_of([&] { run.start(); }), HasSubstr("parameter \"bias\" is not finite"));

  EXPECT_EQ(run.warnings.front().first, 3);
  EXPECT_EQ(read_last_state(first_folder(), "next_token").step, 3);
}

/// Cannot sync metrics.jsonl while `is_failing`. While `is_waiting`, other regular files wait for two such failures.
class UnsyncedMetrics : public FileSystem {
 public:
  int sync(int file) override {
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
    const bool is_metrics = path.filename() == "metrics.jsonl";
    const bool is_other_file = !is_metrics && is_regular_file(path);
    while (is_waiting && is_other_file && num_failures < 2) std::this_thread::yield();
    if (!is_failing || !is_metrics) return 0;
    ++num_failures;
    errno = EIO;
    return -1;
  }

  std::atomic<bool> is_waiting = false;
  std::atomic<bool> is_failing = false;
  std::atomic<int> num_failures = 0;
};

TEST_F(FailedSavesTest, EndsWithAnErrorWhenAnEarlierSaveSucceedsButTheLastFails) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 2;
  options.save_every = 1;
  UnsyncedMetrics files;
  const ScopedFileSystem replaced(files);
  TestRun run(first_folder(), options);
  run.task.has_validation = false;
  run.after_step = [&](const StepReport& report) {
    files.is_waiting = true;
    files.is_failing = report.step == 2;
  };

  EXPECT_EQ(error_of([&] { run.start(); }),
            "train: " + (first_folder() / "metrics.jsonl").string() + ": Input/output error; the last saved step is 1");
  EXPECT_EQ(read_last_state(first_folder(), "next_token").step, 1);
}

TEST_F(FailedSavesTest, TellsWhatIsSavedWhenTheDiskIsFullAtTheStartOrAtTheEnd) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 4;
  options.save_every = 2;
  options.log_every = 100;
  options.validate_every = 3;
  std::optional<FileSizeLimit> limit(100);
  EXPECT_EQ(error_of([&] { TestRun(first_folder(), options).start(); }),
            "train: " + (first_folder() / "last").string() +
                "/model.safetensors: File too large; nothing was replaced; no step is saved");

  limit.reset();
  TestRun run(first_folder(), options);
  run.task.on_validate = [&] {
    if (run.trainer.state().step == 4) limit.emplace(100);
    return Validation{.loss = 1.0 / static_cast<double>(run.trainer.state().step)};
  };
  EXPECT_THAT(error_of([&] { run.start(); }), HasSubstr("; the last saved step is 4"));
  limit.reset();
  EXPECT_EQ(restore_last(first_folder()), "");
  EXPECT_EQ(read_last_state(first_folder(), "next_token").step, 4);
}

}  // namespace
}  // namespace edgewise
