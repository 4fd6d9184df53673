// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/safetensors.h"
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

TEST_F(ResumeTest, GivesTheSameBitsForARunStoppedAndResumedAtAnyStep) {
  TrainOptions options = short_run();
  options.accumulate = 2;
  options.validate_every = 3;
  options.save_every = 5;
  options.log_every = 4;
  options.clip_norm = 0.2;
  options.average = 0.8;
  options.keep_best = 2;
  TestRun never_stopped(first_folder(), options, {.noise = 0.5});
  ASSERT_EQ(never_stopped.start(), Outcome::kFinished);
  const std::int64_t last = never_stopped.trainer.state().step;
  ASSERT_GE(last, 6);

  for (std::int64_t step = 1; step < last; ++step) {
    SCOPED_TRACE(step);
    std::filesystem::remove_all(second_folder());
    TestRun stopped(second_folder(), options, {.noise = 0.5});
    stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == step; };
    ASSERT_EQ(stopped.start(), Outcome::kInterrupted);
    ASSERT_EQ(stopped.trainer.state().step, step);

    TestRun resumed(second_folder(), options, {.noise = 0.5});
    ASSERT_EQ(resumed.resume(), Outcome::kFinished);

    expect_same(resumed, never_stopped);
  }
}

TEST_F(ResumeTest, RepeatsAValidationThatWasStopped) {
  TrainOptions options = short_run();
  options.schedule = ScheduleKind::kPlateau;
  options.plateau_patience = 1;
  options.validate_every = 2;
  options.log_every = 2;
  options.keep_best = 2;
  options.average = 0.8;
  TestRun never_stopped(first_folder(), options, {.noise = 0.5});
  never_stopped.start();
  const std::int64_t last = never_stopped.trainer.state().step;

  for (std::int64_t step = 2; step <= last; step += 2) {
    SCOPED_TRACE(step);
    std::filesystem::remove_all(second_folder());
    TestRun stopped(second_folder(), options, {.noise = 0.5});
    stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == step; };
    ASSERT_EQ(stopped.start(), Outcome::kInterrupted);
    EXPECT_EQ(stopped.trainer.state().step, step);
    EXPECT_EQ(stopped.trainer.state().validated_step, step - 2);

    TestRun resumed(second_folder(), options, {.noise = 0.5});
    ASSERT_EQ(resumed.resume(), Outcome::kFinished);

    EXPECT_EQ(resumed.validations.front().first, step);
    expect_same(resumed, never_stopped);
  }
}

TEST_F(ResumeTest, CountsAValidationOnceThatWasStoppedThenRepeatedAndThenLostByAKill) {
  TrainOptions options = short_run();
  options.validate_every = 2;
  options.save_every = 1000;
  options.keep_best = 2;
  TestRun never_stopped(first_folder(), options, {.noise = 0.5});
  never_stopped.start();

  {
    TestRun stopped(second_folder(), options, {.noise = 0.5});
    stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == 4; };
    ASSERT_EQ(stopped.start(), Outcome::kInterrupted);
  }
  {
    TestRun killed(second_folder(), options, {.noise = 0.5});
    killed.after_step = [](const StepReport& report) {
      if (report.step == 6) throw std::runtime_error("killed");
    };
    EXPECT_THROW(killed.resume(), std::runtime_error);
    EXPECT_EQ(killed.validations.front().first, 4);
  }
  EXPECT_TRUE(std::filesystem::exists(second_folder() / "step-00000004"));
  TestRun resumed(second_folder(), options, {.noise = 0.5});
  resumed.resume();

  EXPECT_EQ(resumed.validations.front().first, 4);
  expect_same(resumed, never_stopped);
}

TEST_F(ResumeTest, CutsTheRateAtAPlateauAfterResuming) {
  TrainOptions options = short_run();
  options.schedule = ScheduleKind::kPlateau;
  options.plateau_patience = 2;
  options.validate_every = 1;
  const auto stall = [](TestRun& run) { run.task.on_validate = [] { return Validation{.loss = 1.0}; }; };
  TestRun stopped(second_folder(), options);
  stall(stopped);
  stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == 2; };
  stopped.start();

  TestRun resumed(second_folder(), options);
  stall(resumed);
  resumed.resume();

  // The first validation is the best. After two validations that are not better, the next step has half the rate.
  ASSERT_GE(resumed.steps.size(), 4U);
  EXPECT_EQ(resumed.steps[0].learning_rate, 0.1);
  EXPECT_EQ(resumed.steps[1].learning_rate, 0.05);
  EXPECT_EQ(resumed.steps[2].learning_rate, 0.05);
  EXPECT_EQ(resumed.steps[3].learning_rate, 0.025);
}

TEST_F(ResumeTest, GivesTheSameBitsForARunKilledAtAnyStepAndResumedFromItsLastCheckpoint) {
  TrainOptions options = short_run();
  options.validate_every = 2;
  options.save_every = 3;
  options.average = 0.8;
  options.keep_best = 1;
  TestRun never_killed(first_folder(), options, {.noise = 0.5});
  never_killed.start();

  for (std::int64_t step = 1; step < never_killed.trainer.state().step; ++step) {
    SCOPED_TRACE(step);
    std::filesystem::remove_all(second_folder());
    {
      TestRun killed(second_folder(), options, {.noise = 0.5});
      killed.after_step = [&](const StepReport& report) {
        if (report.step == step) throw std::runtime_error("killed");
      };
      EXPECT_THROW(killed.start(), std::runtime_error);
    }

    TestRun resumed(second_folder(), options, {.noise = 0.5});
    resumed.resume();

    EXPECT_EQ(resumed.steps.front().step, (step - 1) / 3 * 3 + 1);
    expect_same(resumed, never_killed);
  }
}

TEST_F(ResumeTest, StopsBeforeTheFirstStepToo) {
  TestRun run(first_folder(), short_run());
  run.requests.stop = true;
  EXPECT_EQ(run.start(), Outcome::kInterrupted);

  TestRun resumed(first_folder(), short_run());
  EXPECT_EQ(resumed.resume(), Outcome::kFinished);
  TestRun at_once(second_folder(), short_run());
  at_once.start();
  expect_same(resumed, at_once);
}

TEST_F(ResumeTest, ContinuesAFinishedRunWithMoreEpochs) {
  TrainOptions options = short_run();
  TestRun(first_folder(), options).start();

  TestRun again(first_folder(), options);
  EXPECT_EQ(again.resume(), Outcome::kFinished);
  EXPECT_TRUE(again.steps.empty());

  options.epochs = 3;
  TestRun longer(first_folder(), options);
  EXPECT_EQ(longer.resume(), Outcome::kFinished);
  EXPECT_EQ(longer.steps.front().epoch, 3);

  TestRun at_once(second_folder(), options);
  at_once.start();
  expect_same(longer, at_once);
}

TEST_F(ResumeTest, HasNoBestModelOfAStepThatAShorterRunDoesNotReach) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 5;
  options.save_every = 1'000'000;
  options.validate_every = 2;
  const auto improve_until_step_6 = [](TestRun& run) {
    run.task.on_validate = [&run] {
      const std::int64_t step = run.trainer.state().step;
      const bool is_better = step % 2 == 0 && step <= 6;
      return Validation{.loss = is_better ? 1.0 / static_cast<double>(step) : 1.0};
    };
  };
  TestRun at_once(first_folder(), options);
  improve_until_step_6(at_once);
  at_once.start();

  options.steps = 1'000'000;
  {
    TestRun killed(second_folder(), options);
    improve_until_step_6(killed);
    killed.after_step = [&](const StepReport& report) {
      if (report.step == 4) killed.requests.save = true;
      if (report.step < 7) return;
      const std::string scores = read_file(second_folder() / "best" / kScoreFile);
      if (scores.starts_with("step = 6\n")) throw std::runtime_error("killed");
    };
    EXPECT_THROW(killed.start(), std::runtime_error);
  }
  EXPECT_EQ(read_last_state(second_folder(), "next_token").step, 4);
  options.steps = 5;
  TestRun resumed(second_folder(), options);
  improve_until_step_6(resumed);
  resumed.resume();

  expect_same(resumed, at_once);
  EXPECT_EQ(resumed.trainer.state().best_step, 4);
}

TEST_F(ResumeTest, EndsAtOnceWithFewerStepsThanAreDone) {
  TrainOptions options = short_run();
  TestRun stopped(first_folder(), options);
  stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == 5; };
  stopped.start();

  options.steps = 2;
  TestRun resumed(first_folder(), options);
  EXPECT_EQ(resumed.resume(), Outcome::kFinished);

  EXPECT_TRUE(resumed.steps.empty());
  EXPECT_THAT(resumed.logs, ElementsAre(Field(&StepReport::last_step, testing::Optional(5))));
  EXPECT_EQ(resumed.logs.front().seconds_left, 0.0);
}

TEST_F(ResumeTest, CanStartAndStopAveragingInTheMiddleOfARun) {
  TrainOptions options = short_run();
  TestRun stopped(first_folder(), options);
  stopped.after_step = [&](const StepReport& report) { stopped.requests.stop = report.step == 4; };
  stopped.start();

  options.average = 0.9;
  TestRun resumed(first_folder(), options);
  resumed.after_step = [&](const StepReport& report) { resumed.requests.stop = report.step == 5; };
  resumed.resume();
  EXPECT_EQ(resumed.trainer.state().averaged, 1);
  NextTokenTask saved;
  load_tensors(saved.parameters(), SafetensorsFile::open(first_folder() / "last/model.safetensors"), "last");
  EXPECT_TRUE(saved.table().equal(resumed.task.table()));

  options.average = 0.0;
  TestRun without(first_folder(), options);
  without.resume();
  TestRun at_once(second_folder(), options);
  at_once.start();
  EXPECT_TRUE(without.task.table().equal(at_once.task.table()));
  EXPECT_EQ(without.trainer.state().averaged, std::nullopt);
}

TEST_F(ResumeTest, ResumesAfterValidationsThatAreNotANumber) {
  TrainOptions options = short_run();
  options.keep_best = 1;
  TestRun stopped(first_folder(), options);
  stopped.task.on_validate = [] { return Validation{.loss = std::nan("")}; };
  stopped.start();

  options.epochs = 3;
  TestRun resumed(first_folder(), options);
  EXPECT_EQ(resumed.resume(), Outcome::kFinished);
  EXPECT_THAT(resumed.validations, Each(Field(&std::pair<std::int64_t, bool>::second, true)));
}

TEST_F(ResumeTest, StartsOnlyInADirectoryWithoutARun) {
  TestRun(first_folder(), short_run()).start();
  const std::string before =
      read_file(first_folder() / "last/manifest.json") + read_file(first_folder() / "metrics.jsonl");

  EXPECT_THAT([this] { TestRun(first_folder(), short_run()).start(); },
              ThrowsMessage<Error>("train: " + first_folder().string() +
                                   " holds a run (last), needs a directory without one; go on with it by --resume, or "
                                   "choose another"));

  EXPECT_EQ(read_file(first_folder() / "last/manifest.json") + read_file(first_folder() / "metrics.jsonl"), before);
}

TEST_F(ResumeTest, ResumesOnlyWithTheSeedAndDataOfTheRun) {
  TrainOptions options = short_run();
  TestRun(first_folder(), options).start();

  EXPECT_THAT([&] { TestRun(first_folder(), options, {}, {.tokens = 13, .sentences = 0, .bucket = 2}).resume(); },
              ThrowsMessage<Error>("train: the training pairs or batch options are not those of " +
                                   first_folder().string() + "; go on with the files and options that it began with"));
  options.seed = 7;
  EXPECT_THAT([&] { TestRun(first_folder(), options).resume(); },
              ThrowsMessage<Error>("train: seed is 7, but " + first_folder().string() +
                                   " began with 1; set train.seed=1 to go on"));
}

}  // namespace
}  // namespace edgewise
