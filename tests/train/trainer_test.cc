// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/nn/serialize.h"
#include "tests/support/error_of.h"
#include "tests/train/changing_pairs.h"
#include "tests/train/two_runs.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::ThrowsMessage;

class TrainerTest : public TwoRuns {};

TEST_F(TrainerTest, LowersTheLoss) {
  TrainOptions options = short_run();
  options.epochs = 30;
  TestRun run(first_folder(), options);

  EXPECT_EQ(run.start(), Outcome::kFinished);

  EXPECT_LT(run.steps.back().loss, 0.5 * run.steps.front().loss);
  EXPECT_GT(run.steps.back().accuracy, run.steps.front().accuracy);
}

TEST_F(TrainerTest, TakesTheSameStepWithAccumulatedBatchesAsWithOneBigBatch) {
  const auto table_after = [this](const char* name, std::int64_t sentences, std::int64_t accumulate) {
    TrainOptions options = short_run();
    options.epochs = 4;
    options.accumulate = accumulate;
    TestRun run(folder() / name, options, {.dtype = at::kDouble}, {.tokens = 0, .sentences = sentences, .bucket = 1});
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
  TestRun run(first_folder(), options, {}, {.tokens = 0, .sentences = 5, .bucket = 0});  // five batches an epoch
  run.start();

  EXPECT_THAT(run.steps, ElementsAre(Field(&StepReport::epoch, 1), Field(&StepReport::epoch, 1),
                                     Field(&StepReport::epoch, 2), Field(&StepReport::epoch, 2)));
}

TEST_F(TrainerTest, DrawsDifferentRandomNumbersForAnotherSeed) {
  TrainOptions options = short_run();
  TestRun first(first_folder(), options, {.noise = 0.5});
  options.seed = 2;
  TestRun second(second_folder(), options, {.noise = 0.5});
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
  TestRun run(first_folder(), options);
  run.start();

  EXPECT_THAT(run.logs,
              ElementsAre(Field(&StepReport::step, 3), Field(&StepReport::step, 6), Field(&StepReport::step, 7)));
  EXPECT_THAT(run.validations, ElementsAre(Pair(4, true), Pair(7, true)));
  EXPECT_THAT(run.saves,
              ElementsAre(Pair(0, "last"), Pair(4, "best"), Pair(5, "last"), Pair(7, "last"), Pair(7, "best")));
}

TEST_F(TrainerTest, LogsValidatesAndSavesAtTheEndOfAnEpochByDefault) {
  TrainOptions options = short_run();
  options.log_every = 0;
  TestRun run(first_folder(), options, {}, {.tokens = 0, .sentences = 5, .bucket = 0});
  run.start();

  EXPECT_THAT(run.logs, ElementsAre(Field(&StepReport::step, 5), Field(&StepReport::step, 10)));
  EXPECT_THAT(run.validations, ElementsAre(Pair(5, true), Pair(10, true)));
  EXPECT_THAT(run.saves, AllOf(Contains(Pair(5, "last")), Contains(Pair(10, "last"))));
}

TEST_F(TrainerTest, LogsMeansOverTheStepsSinceTheLastLine) {
  TrainOptions options = short_run();
  options.log_every = 0;
  options.epochs = 1;
  TestRun run(first_folder(), options, {}, {.tokens = 0, .sentences = 1, .bucket = 1});
  double sum = 0.0;
  double tokens = 0.0;
  std::size_t batch = 0;
  const auto plan = run.batches.streams().front().plan(0);
  run.after_step = [&](const StepReport& report) {
    const auto pair = static_cast<std::size_t>(plan[batch++].front());
    const auto size = static_cast<double>(NextTokenTask::pairs()[pair].output.size() - 1);
    sum += report.loss * size;
    tokens += size;
  };
  run.start();

  ASSERT_EQ(run.logs.size(), 1U);
  EXPECT_NEAR(run.logs[0].loss, sum / tokens, 1e-12);
  EXPECT_THAT(read_metrics(first_folder()), HasSubstr("{\"step\": 23, \"epoch\": 1, \"loss\": "));
}

TEST_F(TrainerTest, ReportsTheLastStep) {
  TrainOptions options = short_run();
  options.accumulate = 2;
  TestRun by_epochs(first_folder(), options, {}, {.tokens = 0, .sentences = 5, .bucket = 0});
  by_epochs.start();
  EXPECT_THAT(by_epochs.steps, Each(Field(&StepReport::last_step, testing::Optional(6))));
  EXPECT_EQ(by_epochs.steps.back().seconds_left, 0.0);
  EXPECT_GT(by_epochs.steps.front().seconds_left, 0.0);
  EXPECT_GT(by_epochs.steps.front().tokens_per_second, 0.0);

  options.steps = 4;
  TestRun by_steps(folder() / "steps", options, {}, {.tokens = 0, .sentences = 5, .bucket = 0});
  by_steps.start();
  EXPECT_THAT(by_steps.steps, Each(Field(&StepReport::last_step, testing::Optional(4))));
}

TEST_F(TrainerTest, RunsWithoutALimitUntilARequestToStop) {
  TrainOptions options = short_run();
  options.epochs = 0;
  TestRun run(first_folder(), options);
  run.after_step = [&](const StepReport& report) { run.requests.stop = report.step == 100; };

  EXPECT_EQ(run.start(), Outcome::kInterrupted);
  EXPECT_EQ(run.steps.back().last_step, std::nullopt);
  EXPECT_EQ(run.steps.back().seconds_left, std::nullopt);
}

TEST_F(TrainerTest, HasNoBestModelWithoutValidationPairs) {
  TestRun run(first_folder(), short_run());
  run.task.has_validation = false;
  run.start();

  EXPECT_TRUE(run.validations.empty());
  EXPECT_FALSE(std::filesystem::exists(first_folder() / "best"));
  EXPECT_TRUE(std::filesystem::exists(first_folder() / "last/manifest.json"));
}

TEST_F(TrainerTest, ValidatesAndSavesTheAverageOfTheWeights) {
  TrainOptions options = short_run();
  TestRun plain(first_folder(), options);
  plain.start();

  options.average = 0.9;
  options.validate_every = 4;
  TestRun averaged(second_folder(), options);
  at::Tensor average = at::zeros_like(averaged.task.table());
  averaged.after_step = [&](const StepReport& report) {
    const at::Tensor table = averaged.task.table().detach();
    average = 0.9 * average + 0.1 * table;
    if (report.step == 4) {
      averaged.task.on_validate = [&, table = table.clone(), expected = average / (1 - std::pow(0.9, 4))] {
        EXPECT_TRUE(at::allclose(averaged.task.table(), expected, 1e-5, 1e-6));
        EXPECT_FALSE(averaged.task.table().equal(table));
        const auto running = std::exchange(averaged.task.on_validate, nullptr);  // else the call below would recurse
        return averaged.task.validate(false);
      };
    }
  };
  averaged.start();

  EXPECT_TRUE(averaged.task.table().equal(plain.task.table()));  // averaging does not change training
  const at::Tensor expected = average / (1 - std::pow(0.9, static_cast<double>(averaged.steps.size())));
  NextTokenTask saved;
  load_tensors(saved.parameters(), SafetensorsFile::open(second_folder() / "last/model.safetensors"), "last");
  EXPECT_TRUE(at::allclose(saved.table(), expected, 1e-5, 1e-6));
  EXPECT_TRUE(read_file(second_folder() / "last/model.safetensors") ==
              read_file(second_folder() / "best/model.safetensors"));
}

TEST_F(TrainerTest, SavesTheModelsOfTheBestValidations) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 6;
  options.validate_every = options.save_every = 1;
  options.keep_best = 2;
  options.best_by = BestMetric::kAccuracy;
  TestRun run(first_folder(), options);
  run.task.on_validate = [count = 0]() mutable {
    const std::array<double, 6> accuracies = {0.3, 0.5, 0.1, 0.7, 0.6, 0.2};
    return Validation{.loss = 1.0, .accuracy = accuracies[static_cast<std::size_t>(count++)]};
  };
  at::Tensor best;
  run.after_step = [&](const StepReport& report) {
    if (report.step == 4) best = run.task.table().detach().clone();
  };
  run.start();

  EXPECT_THAT(names_in(first_folder()),
              ElementsAre("best", "last", "lock", "metrics.jsonl", "previous", "step-00000004", "step-00000005"));
  EXPECT_EQ(run.trainer.state().best_step, 4);
  EXPECT_TRUE(read_file(first_folder() / "best/model.safetensors") ==
              read_file(first_folder() / "step-00000004/model.safetensors"));
  NextTokenTask saved;
  load_tensors(saved.parameters(), SafetensorsFile::open(first_folder() / "step-00000004/model.safetensors"), "step");
  EXPECT_TRUE(saved.table().equal(best));
}

TEST_F(TrainerTest, StopsEarlyWhenValidationsDoNotImprove) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.validate_every = 2;
  options.patience = 3;
  TestRun run(first_folder(), options);
  run.task.on_validate = [count = 0]() mutable {
    const std::array<double, 6> losses = {3.0, 2.0, 2.5, 2.0, 9.0, 1.0};
    return Validation{.loss = losses[static_cast<std::size_t>(count++)], .accuracy = 0.5};
  };

  EXPECT_EQ(run.start(), Outcome::kStoppedEarly);
  EXPECT_THAT(run.validations,
              ElementsAre(Pair(2, true), Pair(4, true), Pair(6, false), Pair(8, false), Pair(10, false)));
  EXPECT_EQ(run.trainer.state().best_step, 4);

  TestRun again(first_folder(), options);
  EXPECT_EQ(again.resume(), Outcome::kStoppedEarly);
}

TEST_F(TrainerTest, SavesAtARequest) {
  TrainOptions options = short_run();
  options.save_every = 100;
  TestRun without_request(first_folder(), options);
  without_request.start();

  TestRun with_request(second_folder(), options);
  with_request.after_step = [&](const StepReport& report) { with_request.requests.save = report.step == 3; };
  EXPECT_EQ(with_request.start(), Outcome::kFinished);

  EXPECT_THAT(with_request.saves, Contains(Pair(3, "last")));
  EXPECT_FALSE(with_request.requests.save);
  expect_same(with_request, without_request);
}

TEST_F(TrainerTest, SavesOnceAtARequestAtAStepThatIsSavedAnyway) {
  TrainOptions options = short_run();
  options.save_every = 3;
  TestRun run(first_folder(), options);
  run.after_step = [&](const StepReport& report) {
    EXPECT_FALSE(run.requests.save);
    run.requests.save = report.step == 3;
  };
  run.start();
  EXPECT_THAT(run.saves, Not(Contains(Pair(4, "last"))));
}

TEST_F(TrainerTest, KeepsTheModelOfALastValidationThatWasNotDueUntilARunGoesOn) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 6;
  options.log_every = options.validate_every = 4;
  options.keep_best = 2;
  TestRun run(first_folder(), options);
  run.start();
  EXPECT_THAT(run.validations, ElementsAre(Pair(4, true), Pair(6, true)));
  EXPECT_THAT(names_in(first_folder()),
              ElementsAre("best", "best-scheduled", "last", "lock", "metrics.jsonl", "previous", "step-00000004"));
  EXPECT_TRUE(read_file(first_folder() / "best/model.safetensors") ==
              read_file(first_folder() / "last/model.safetensors"));
  EXPECT_THAT(read_metrics(first_folder()), HasSubstr("{\"step\": 6, "));

  options.steps = 7;
  TestRun longer(first_folder(), options);
  longer.trainer.resume();
  EXPECT_TRUE(read_file(first_folder() / "best/model.safetensors") ==
              read_file(first_folder() / "step-00000004/model.safetensors"));
  longer.start();
  EXPECT_THAT(read_metrics(first_folder()), testing::Not(HasSubstr("{\"step\": 6, ")));
}

TEST_F(TrainerTest, RepeatsALastValidationThatWasNotDueWhenAFinishedRunIsResumed) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.steps = 6;
  options.save_every = 3;
  options.log_every = options.validate_every = 4;
  TestRun(first_folder(), options).start();
  TestRun(second_folder(), options).start();

  TestRun again(first_folder(), options);
  EXPECT_EQ(again.resume(), Outcome::kFinished);
  EXPECT_TRUE(again.steps.empty());
  EXPECT_THAT(again.validations, ElementsAre(Pair(6, true)));
  expect_same_run(first_folder(), second_folder());
}

/// Ends a run by an error of the corpus at the fourth batch, and resumes it.
class CorpusErrorTest : public TwoRuns, public testing::WithParamInterface<std::int64_t> {};

TEST_P(CorpusErrorTest, SavesTheStepBefore) {
  TrainOptions options = short_run();
  options.accumulate = GetParam();
  options.save_every = 1000;
  options.validate_every = 2;
  const BatchOptions batches = ChangingPairs::batch_options();
  TestRun never_failed(first_folder(), options, {}, batches, std::make_shared<ChangingPairs>());
  never_failed.start();

  const auto pairs = std::make_shared<ChangingPairs>();
  pairs->is_changed = true;
  {
    TestRun failed(second_folder(), options, {}, batches, pairs);
    const std::string error = error_of([&] { failed.start(); });
    const std::int64_t step = 3 / options.accumulate;
    EXPECT_EQ(std::ssize(failed.steps), step);
    EXPECT_EQ(error, fmt::format("train: the corpus was changed; the last saved step is {}", step));
    EXPECT_EQ(read_last_state(second_folder(), "next_token").step, step);
  }

  pairs->is_changed = false;
  TestRun resumed(second_folder(), options, {}, batches, pairs);
  resumed.resume();
  expect_same(resumed, never_failed);
}

INSTANTIATE_TEST_SUITE_P(NumbersOfBatches, CorpusErrorTest, testing::Values(1, 2, 3, 4));

TEST_F(TrainerTest, NeedsABatchPerStep) {
  TrainOptions options = short_run();
  options.accumulate = 0;
  EXPECT_THAT([&] { TestRun(first_folder(), options); },
              ThrowsMessage<Error>("Updater: accumulate is 0, needs at least 1 batch"));
}

}  // namespace
}  // namespace edgewise
