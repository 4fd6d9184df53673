// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/safetensors.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/train/trainer.h"
#include "tests/train/two_runs.h"

namespace edgewise {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::ThrowsMessage;

class ResumeTest : public TwoRuns {};

// The promise that lets a run be stopped at any time.
TEST_F(ResumeTest, StoppedAndResumedAnywhereGivesTheSameBits) {
  TrainOptions options = short_run();
  options.accumulate = 2;
  options.validate_every = 3;
  options.save_every = 5;
  options.log_every = 4;
  options.clip_norm = 0.2;
  options.average = 0.8;
  options.keep_best = 2;
  RunOf never_stopped(whole(), options, {.noise = 0.5});
  ASSERT_EQ(never_stopped.start(), Outcome::kFinished);
  const std::int64_t last = never_stopped.trainer.state().step;
  ASSERT_GE(last, 6);

  for (std::int64_t step = 1; step < last; ++step) {
    SCOPED_TRACE(step);
    std::filesystem::remove_all(parted());
    RunOf stopped(parted(), options, {.noise = 0.5});
    stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == step; };
    ASSERT_EQ(stopped.start(), Outcome::kInterrupted);
    ASSERT_EQ(stopped.trainer.state().step, step);

    RunOf resumed(parted(), options, {.noise = 0.5});
    ASSERT_EQ(resumed.go_on(), Outcome::kFinished);

    expect_same(resumed, never_stopped);
  }
}

TEST_F(ResumeTest, CutsItsRateWhereValidationsStallAlsoWhenItIsResumed) {
  TrainOptions options = short_run();
  options.schedule = ScheduleKind::kPlateau;
  options.plateau_patience = 2;
  options.validate_every = 1;
  const auto stall = [](RunOf& run) { run.task.on_validate = [] { return Validation{.loss = 1.0}; }; };
  RunOf stopped(parted(), options);
  stall(stopped);
  stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == 2; };
  stopped.start();

  RunOf resumed(parted(), options);
  stall(resumed);
  resumed.go_on();

  // The first validation is the best; two more that are not, and the step behind them has half the rate.
  ASSERT_GE(resumed.steps.size(), 4U);
  EXPECT_EQ(resumed.steps[0].learning_rate, 0.1);
  EXPECT_EQ(resumed.steps[1].learning_rate, 0.05);
  EXPECT_EQ(resumed.steps[2].learning_rate, 0.05);
  EXPECT_EQ(resumed.steps[3].learning_rate, 0.025);
}

TEST_F(ResumeTest, KilledAnywhereGoesOnFromItsLastCheckpointToTheSameBits) {
  TrainOptions options = short_run();
  options.validate_every = 2;
  options.save_every = 3;
  options.average = 0.8;
  options.keep_best = 1;
  RunOf never_killed(whole(), options, {.noise = 0.5});
  never_killed.start();

  for (std::int64_t step = 1; step < never_killed.trainer.state().step; ++step) {
    SCOPED_TRACE(step);
    std::filesystem::remove_all(parted());
    {
      RunOf killed(parted(), options, {.noise = 0.5});
      killed.after_step = [&](const StepReport& report) {
        if (report.step == step) throw std::runtime_error("killed");
      };
      EXPECT_THROW(killed.start(), std::runtime_error);
    }

    RunOf resumed(parted(), options, {.noise = 0.5});
    resumed.go_on();

    EXPECT_EQ(resumed.steps.front().step, (step - 1) / 3 * 3 + 1);
    expect_same(resumed, never_killed);
  }
}

TEST_F(ResumeTest, StopsBeforeTheFirstStepToo) {
  RunOf run(whole(), short_run());
  run.requests.stop = true;
  EXPECT_EQ(run.start(), Outcome::kInterrupted);

  RunOf resumed(whole(), short_run());
  EXPECT_EQ(resumed.go_on(), Outcome::kFinished);
  RunOf at_once(parted(), short_run());
  at_once.start();
  expect_same(resumed, at_once);
}

TEST_F(ResumeTest, TrainsOnWhenMoreIsAskedOfAFinishedRun) {
  TrainOptions options = short_run();
  RunOf(whole(), options).start();

  RunOf again(whole(), options);
  EXPECT_EQ(again.go_on(), Outcome::kFinished);
  EXPECT_TRUE(again.steps.empty());

  options.epochs = 3;
  RunOf longer(whole(), options);
  EXPECT_EQ(longer.go_on(), Outcome::kFinished);
  EXPECT_EQ(longer.steps.front().epoch, 3);
}

TEST_F(ResumeTest, EndsAtOnceWhenLessIsAskedThanIsDone) {
  TrainOptions options = short_run();
  RunOf stopped(whole(), options);
  stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == 5; };
  stopped.start();

  options.steps = 2;
  RunOf resumed(whole(), options);
  EXPECT_EQ(resumed.go_on(), Outcome::kFinished);

  EXPECT_TRUE(resumed.steps.empty());
  EXPECT_THAT(resumed.logs, ElementsAre(Field(&StepReport::last_step, testing::Optional(5))));
  EXPECT_EQ(resumed.logs.front().seconds_left, 0.0);
}

TEST_F(ResumeTest, CanBeginAndEndToAverageInTheMiddleOfARun) {
  TrainOptions options = short_run();
  RunOf stopped(whole(), options);
  stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == 4; };
  stopped.start();

  options.average = 0.9;
  RunOf resumed(whole(), options);
  resumed.after_step = [&](const StepReport& report) { resumed.requests.stop = report.step == 5; };
  resumed.go_on();
  EXPECT_EQ(resumed.trainer.state().averaged, 1);
  NextTokenTask found;
  load_tensors(found.parameters(), SafetensorsFile::open(whole() / "last/model.safetensors"), "last");
  EXPECT_TRUE(found.table().equal(resumed.task.table()));

  options.average = 0.0;
  RunOf without(whole(), options);
  without.go_on();
  RunOf at_once(parted(), options);
  at_once.start();
  EXPECT_TRUE(without.task.table().equal(at_once.task.table()));
  EXPECT_EQ(without.trainer.state().averaged, std::nullopt);
}

TEST_F(ResumeTest, GoesOnFromValidationsThatAreNoNumbers) {
  TrainOptions options = short_run();
  options.keep_best = 1;
  RunOf stopped(whole(), options);
  stopped.task.on_validate = [] { return Validation{.loss = std::nan("")}; };
  stopped.start();

  options.epochs = 3;
  RunOf resumed(whole(), options);
  EXPECT_EQ(resumed.go_on(), Outcome::kFinished);
  EXPECT_THAT(resumed.validations, Each(Field(&std::pair<std::int64_t, bool>::second, true)));
}

TEST_F(ResumeTest, BeginsOnlyWhereNoRunIs) {
  RunOf(whole(), short_run()).start();
  const std::string before = read_file(whole() / "last/manifest.json") + read_file(whole() / "metrics.jsonl");

  EXPECT_THAT([this] { RunOf(whole(), short_run()).start(); },
              ThrowsMessage<Error>("train: " + whole().string() +
                                   " holds a run (last), needs a directory without one; go on with it by --resume, or "
                                   "choose another"));

  EXPECT_EQ(read_file(whole() / "last/manifest.json") + read_file(whole() / "metrics.jsonl"), before);
}

TEST_F(ResumeTest, GoesOnOnlyWithTheSeedAndDataOfTheRun) {
  TrainOptions options = short_run();
  RunOf(whole(), options).start();

  EXPECT_THAT([&] { RunOf(whole(), options, {}, {.tokens = 13, .sentences = 0, .bucket = 2}).go_on(); },
              ThrowsMessage<Error>("train: the training pairs or batch options are not those of " + whole().string() +
                                   "; go on with the files and options that it began with"));
  options.seed = 7;
  EXPECT_THAT(
      [&] { RunOf(whole(), options).go_on(); },
      ThrowsMessage<Error>("train: seed is 7, but " + whole().string() + " began with 1; set train.seed=1 to go on"));
}

}  // namespace
}  // namespace edgewise
