// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/safetensors.h"
#include "edgewise/nn/serialize.h"
#include "tests/train/file_size_limit.h"
#include "tests/train/run_folder.h"
#include "tests/train/run_of.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::ThrowsMessage;

class TrainerTest : public RunFolder {
 protected:
  std::filesystem::path whole() const { return folder() / "whole"; }
  std::filesystem::path parted() const { return folder() / "parted"; }

  /// The same in memory and on disk.
  static void expect_same(const RunOf& left, const RunOf& right) {
    EXPECT_TRUE(left.task.table().equal(right.task.table()));
    EXPECT_TRUE(left.task.bias().equal(right.task.bias()));
    expect_same_run(left.folder, right.folder);
  }
};

TEST_F(TrainerTest, LowersTheLoss) {
  TrainOptions options = short_run();
  options.epochs = 30;
  RunOf run(whole(), options);

  EXPECT_EQ(run.start(), Outcome::kFinished);

  EXPECT_LT(run.steps.back().loss, 0.5 * run.steps.front().loss);
  EXPECT_GT(run.steps.back().accuracy, run.steps.front().accuracy);
}

TEST_F(TrainerTest, AccumulatesToTheStepOfOneBigBatch) {
  const auto table_after = [this](const char* name, std::int64_t sentences, std::int64_t accumulate) {
    TrainOptions options = short_run();
    options.epochs = 4;
    options.accumulate = accumulate;
    RunOf run(folder() / name, options, {.dtype = at::kDouble}, {.tokens = 0, .sentences = sentences, .bucket = 1});
    run.start();
    EXPECT_EQ(run.trainer.state().step, 4);
    return run.task.table();
  };

  const at::Tensor at_once = table_after("at_once", 23, 1);
  EXPECT_TRUE(at::allclose(table_after("one_by_one", 1, 23), at_once, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(table_after("by_seven", 7, 100), at_once, 1e-12, 1e-12));
}

TEST_F(TrainerTest, EndsAStepWithItsEpoch) {
  TrainOptions options = short_run();
  options.accumulate = 3;
  RunOf run(whole(), options, {}, {.tokens = 0, .sentences = 5, .bucket = 0});  // five batches an epoch
  run.start();

  EXPECT_THAT(run.steps, ElementsAre(Field(&StepReport::epoch, 1), Field(&StepReport::epoch, 1),
                                     Field(&StepReport::epoch, 2), Field(&StepReport::epoch, 2)));
}

// The promise that lets a run be stopped at any time.
TEST_F(TrainerTest, StoppedAndResumedAnywhereGivesTheSameBits) {
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

TEST_F(TrainerTest, CutsItsRateWhereValidationsStallAlsoWhenItIsResumed) {
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

TEST_F(TrainerTest, KilledAnywhereGoesOnFromItsLastCheckpointToTheSameBits) {
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

TEST_F(TrainerTest, DrawsOtherRandomNumbersForAnotherSeed) {
  TrainOptions options = short_run();
  RunOf first(whole(), options, {.noise = 0.5});
  options.seed = 2;
  RunOf second(parted(), options, {.noise = 0.5});
  first.start();
  second.start();
  EXPECT_FALSE(first.task.table().equal(second.task.table()));
}

TEST_F(TrainerTest, LogsValidatesAndSavesWhenDueAndAtTheEnd) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 7;
  options.log_every = 3;
  options.validate_every = 4;
  options.save_every = 5;
  RunOf run(whole(), options);
  run.start();

  EXPECT_THAT(run.logs,
              ElementsAre(Field(&StepReport::step, 3), Field(&StepReport::step, 6), Field(&StepReport::step, 7)));
  EXPECT_THAT(run.validations, ElementsAre(Pair(4, true), Pair(7, true)));
  EXPECT_THAT(run.saves,
              ElementsAre(Pair(0, "last"), Pair(4, "best"), Pair(5, "last"), Pair(7, "best"), Pair(7, "last")));
}

TEST_F(TrainerTest, DoesSoAtTheEndOfAnEpochByDefault) {
  TrainOptions options = short_run();
  options.log_every = 0;
  RunOf run(whole(), options, {}, {.tokens = 0, .sentences = 5, .bucket = 0});
  run.start();

  EXPECT_THAT(run.logs, ElementsAre(Field(&StepReport::step, 5), Field(&StepReport::step, 10)));
  EXPECT_THAT(run.validations, ElementsAre(Pair(5, true), Pair(10, true)));
  EXPECT_THAT(run.saves, AllOf(Contains(Pair(5, "last")), Contains(Pair(10, "last"))));
}

TEST_F(TrainerTest, ReportsMeansOverTheStepsSinceTheLastLine) {
  TrainOptions options = short_run();
  options.log_every = 0;
  options.epochs = 1;
  RunOf run(whole(), options, {}, {.tokens = 0, .sentences = 1, .bucket = 1});
  double sum = 0.0;
  double tokens = 0.0;
  std::size_t batch = 0;
  const auto plan = run.batches.plan(0);
  run.after_step = [&](const StepReport& report) {
    const auto pair = static_cast<std::size_t>(plan[batch++].front());
    const auto size = static_cast<double>(NextTokenTask::pairs()[pair].output.size() - 1);
    sum += report.loss * size;
    tokens += size;
  };
  run.start();

  ASSERT_EQ(run.logs.size(), 1U);
  EXPECT_NEAR(run.logs[0].loss, sum / tokens, 1e-12);
  EXPECT_THAT(metrics_of_run(whole()), HasSubstr("{\"step\": 23, \"epoch\": 1, \"loss\": "));
}

TEST_F(TrainerTest, KnowsWhereItEnds) {
  TrainOptions options = short_run();
  options.accumulate = 2;
  RunOf by_epochs(whole(), options, {}, {.tokens = 0, .sentences = 5, .bucket = 0});
  by_epochs.start();
  EXPECT_THAT(by_epochs.steps, Each(Field(&StepReport::last_step, testing::Optional(6))));
  EXPECT_EQ(by_epochs.steps.back().seconds_left, 0.0);
  EXPECT_GT(by_epochs.steps.front().seconds_left, 0.0);
  EXPECT_GT(by_epochs.steps.front().tokens_per_second, 0.0);

  options.steps = 4;
  RunOf by_steps(folder() / "steps", options, {}, {.tokens = 0, .sentences = 5, .bucket = 0});
  by_steps.start();
  EXPECT_THAT(by_steps.steps, Each(Field(&StepReport::last_step, testing::Optional(4))));
}

TEST_F(TrainerTest, RunsWithoutAnEndUntilAskedToStop) {
  TrainOptions options = short_run();
  options.epochs = 0;
  RunOf run(whole(), options);
  run.after_step = [&](const StepReport& report) { run.requests.stop = report.step == 100; };

  EXPECT_EQ(run.start(), Outcome::kInterrupted);
  EXPECT_EQ(run.steps.back().last_step, std::nullopt);
  EXPECT_EQ(run.steps.back().seconds_left, std::nullopt);
}

TEST_F(TrainerTest, StopsBeforeTheFirstStepToo) {
  RunOf run(whole(), short_run());
  run.requests.stop = true;
  EXPECT_EQ(run.start(), Outcome::kInterrupted);

  RunOf resumed(whole(), short_run());
  EXPECT_EQ(resumed.go_on(), Outcome::kFinished);
  RunOf at_once(parted(), short_run());
  at_once.start();
  expect_same(resumed, at_once);
}

TEST_F(TrainerTest, TrainsOnWhenMoreIsAskedOfAFinishedRun) {
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

TEST_F(TrainerTest, EndsAtOnceWhenLessIsAskedThanIsDone) {
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

TEST_F(TrainerTest, HasNoBestModelWithoutPairsToValidateWith) {
  RunOf run(whole(), short_run());
  run.task.has_validation = false;
  run.start();

  EXPECT_TRUE(run.validations.empty());
  EXPECT_FALSE(std::filesystem::exists(whole() / "best"));
  EXPECT_TRUE(std::filesystem::exists(whole() / "last/manifest.json"));
}

TEST_F(TrainerTest, ValidatesAndKeepsTheAverageOfWeights) {
  TrainOptions options = short_run();
  RunOf plain(whole(), options);
  plain.start();

  options.average = 0.9;
  options.validate_every = 4;
  RunOf averaged(parted(), options);
  at::Tensor average = at::zeros_like(averaged.task.table());
  averaged.after_step = [&](const StepReport& report) {
    const at::Tensor table = averaged.task.table().detach();
    average = 0.9 * average + 0.1 * table;
    if (report.step == 4) {
      averaged.task.on_validate = [&, table = table.clone(), expected = average / (1 - std::pow(0.9, 4))] {
        EXPECT_TRUE(at::allclose(averaged.task.table(), expected, 1e-5, 1e-6));
        EXPECT_FALSE(averaged.task.table().equal(table));
        const auto running = std::exchange(averaged.task.on_validate, nullptr);  // else it would end itself
        return averaged.task.validate();
      };
    }
  };
  averaged.start();

  EXPECT_TRUE(averaged.task.table().equal(plain.task.table()));  // which go on training as without averages
  const at::Tensor expected = average / (1 - std::pow(0.9, static_cast<double>(averaged.steps.size())));
  NextTokenTask found;
  load_tensors(found.parameters(), SafetensorsFile::open(parted() / "last/model.safetensors"), "last");
  EXPECT_TRUE(at::allclose(found.table(), expected, 1e-5, 1e-6));
  EXPECT_TRUE(read_file(parted() / "last/model.safetensors") == read_file(parted() / "best/model.safetensors"));
}

TEST_F(TrainerTest, CanBeginAndEndToAverageInTheMiddleOfARun) {
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

TEST_F(TrainerTest, GoesOnFromValidationsThatAreNoNumbers) {
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

TEST_F(TrainerTest, KeepsTheModelsOfTheBestValidations) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 6;
  options.validate_every = options.save_every = 1;
  options.keep_best = 2;
  options.best_by = BestBy::kAccuracy;
  RunOf run(whole(), options);
  run.task.on_validate = [count = 0]() mutable {
    const std::array<double, 6> accuracies = {0.3, 0.5, 0.1, 0.7, 0.6, 0.2};
    return Validation{.loss = 1.0, .accuracy = accuracies[static_cast<std::size_t>(count++)]};
  };
  at::Tensor best;
  run.after_step = [&](const StepReport& report) {
    if (report.step == 4) best = run.task.table().detach().clone();
  };
  run.start();

  EXPECT_THAT(names_in(whole()),
              ElementsAre("best", "last", "lock", "metrics.jsonl", "previous", "step-00000004", "step-00000005"));
  EXPECT_EQ(run.trainer.state().best_step, 4);
  EXPECT_TRUE(read_file(whole() / "best/model.safetensors") == read_file(whole() / "step-00000004/model.safetensors"));
  NextTokenTask found;
  load_tensors(found.parameters(), SafetensorsFile::open(whole() / "step-00000004/model.safetensors"), "step");
  EXPECT_TRUE(found.table().equal(best));
}

TEST_F(TrainerTest, LosesItsPatience) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.validate_every = 2;
  options.patience = 3;
  RunOf run(whole(), options);
  run.task.on_validate = [count = 0]() mutable {
    const std::array<double, 6> losses = {3.0, 2.0, 2.5, 2.0, 9.0, 1.0};
    return Validation{.loss = losses[static_cast<std::size_t>(count++)], .accuracy = 0.5};
  };

  EXPECT_EQ(run.start(), Outcome::kOutOfPatience);
  EXPECT_THAT(run.validations,
              ElementsAre(Pair(2, true), Pair(4, true), Pair(6, false), Pair(8, false), Pair(10, false)));
  EXPECT_EQ(run.trainer.state().best_step, 4);

  RunOf again(whole(), options);
  EXPECT_EQ(again.go_on(), Outcome::kOutOfPatience);
}

TEST_F(TrainerTest, EndsWhenSaveAfterSaveFails) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 50;
  options.log_every = options.validate_every = 50;
  options.save_every = 5;
  RunOf run(whole(), options);
  std::optional<FileSizeLimit> limit;
  run.after_step = [&](const StepReport&) {
    const bool is_written = !run.saves.empty() && run.saves.back().first == 10;
    if (is_written && !limit) limit.emplace(100);
  };

  EXPECT_THAT([&] { run.start(); },
              ThrowsMessage<Error>(HasSubstr("File too large; nothing was replaced; 3 saves in a row have failed")));

  limit.reset();
  EXPECT_EQ(run.warnings.size(), 2U);
  EXPECT_LE(run.steps.back().step, 30);
  EXPECT_EQ(restore_last(whole()), "");
  EXPECT_GE(read_last_state(whole(), "next_token").step, 10);
}

TEST_F(TrainerTest, GoesOnWhenASaveFailsAndSavesTheNextTime) {
  TrainOptions options = short_run();
  options.save_every = 2;
  options.log_every = 100;  // else metrics.jsonl may be the first that cannot grow
  RunOf never_failed(whole(), options);
  never_failed.start();

  RunOf failed(parted(), options);
  std::optional<FileSizeLimit> limit;
  failed.after_step = [&](const StepReport& report) {
    if (report.step == 1) limit.emplace(100);
    if (!failed.warnings.empty()) limit.reset();
  };
  EXPECT_EQ(failed.start(), Outcome::kFinished);

  ASSERT_FALSE(failed.warnings.empty());
  EXPECT_THAT(failed.warnings[0].second,
              HasSubstr("File too large; nothing was replaced; training goes on, and the next save tries again"));
  expect_same(failed, never_failed);
}

TEST_F(TrainerTest, SavesNowWhenAskedTo) {
  TrainOptions options = short_run();
  options.save_every = 100;
  RunOf never_asked(whole(), options);
  never_asked.start();

  RunOf asked(parted(), options);
  asked.after_step = [&](const StepReport& report) { asked.requests.save = report.step == 3; };
  EXPECT_EQ(asked.start(), Outcome::kFinished);

  EXPECT_THAT(asked.saves, Contains(Pair(3, "last")));
  EXPECT_FALSE(asked.requests.save);
  expect_same(asked, never_asked);
}

TEST_F(TrainerTest, SavesWhatTheLastStepBroughtBehindItsCheckpoint) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 6;
  options.save_every = 3;
  options.log_every = options.validate_every = 4;
  RunOf run(whole(), options);
  run.start();
  const std::string metrics = read_file(whole() / "metrics.jsonl");

  RunOf again(whole(), options);
  EXPECT_EQ(again.go_on(), Outcome::kFinished);
  EXPECT_THAT(again.validations, IsEmpty());
  EXPECT_EQ(read_file(whole() / "metrics.jsonl"), metrics);
}

TEST_F(TrainerTest, BeginsOnlyWhereNoRunIs) {
  RunOf(whole(), short_run()).start();
  const std::string before = read_file(whole() / "last/manifest.json") + read_file(whole() / "metrics.jsonl");

  EXPECT_THAT([this] { RunOf(whole(), short_run()).start(); },
              ThrowsMessage<Error>("train: " + whole().string() +
                                   " holds a run (last), needs a directory without one; go on with it by --resume, or "
                                   "choose another"));

  EXPECT_EQ(read_file(whole() / "last/manifest.json") + read_file(whole() / "metrics.jsonl"), before);
}

TEST_F(TrainerTest, GoesOnOnlyWithTheSeedAndDataOfTheRun) {
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

TEST_F(TrainerTest, NeedsABatchAStep) {
  TrainOptions options = short_run();
  options.accumulate = 0;
  EXPECT_THAT([&] { RunOf(whole(), options); },
              ThrowsMessage<Error>("Updater: accumulate is 0, needs at least 1 batch"));
}

}  // namespace
}  // namespace edgewise
