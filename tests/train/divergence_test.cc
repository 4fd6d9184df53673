// SPDX-License-Identifier: Apache-2.0
// Tests runs with losses that are not finite or have a spike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "tests/train/run_folder.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::ThrowsMessage;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LossStatistics, HaveMeanAndDeviationOfTheFirstHundredLosses) {
  EXPECT_TRUE(rc::check([] {
    const auto numbers = *rc::gen::container<std::vector<int>>(100, rc::gen::inRange(-1000, 1000));
    LossStatistics losses;
    for (const int number : numbers) losses.add(number);
    const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / 100;
    double squares = 0.0;
    for (const int number : numbers) squares += (number - mean) * (number - mean);
    RC_ASSERT(std::abs(losses.mean - mean) < 1e-9);
    RC_ASSERT(std::abs(losses.deviation() - std::sqrt(squares / 100)) < 1e-9);
  }));
}

TEST(LossStatistics, FollowAFallingLoss) {
  LossStatistics losses;
  for (int i = 0; i < 2000; ++i) losses.add(i < 1000 ? 9.0 : 2.0);
  EXPECT_NEAR(losses.mean, 2.0, 1e-3);
  EXPECT_NEAR(losses.deviation(), 0.0, 0.1);
}

TEST(LossStatistics, DetectASpikeOnlyAfterAHundredSteps) {
  LossStatistics losses;
  for (int i = 0; i < 99; ++i) losses.add(i % 2 == 0 ? 1.9 : 2.1);
  EXPECT_FALSE(losses.is_spike(9.0, 5.0));
  losses.add(2.1);
  EXPECT_TRUE(losses.is_spike(9.0, 5.0));
  EXPECT_TRUE(losses.is_spike(2.51, 5.0));
  EXPECT_FALSE(losses.is_spike(2.49, 5.0));
  EXPECT_FALSE(losses.is_spike(0.0, 5.0));
}

class Divergence : public RunFolder {
 protected:
  static TrainOptions options() {
    TrainOptions options = short_run();
    options.epochs = 0;
    options.steps = 130;
    options.learning_rate = 0.001;
    options.save_every = 50;
    return options;
  }

  /// Makes a run that multiplies the loss of one step by `factor`.
  std::unique_ptr<TestRun> run_with(std::int64_t step, double factor, const TrainOptions& options) const {
    auto run = std::make_unique<TestRun>(folder(), options);
    run->task.loss_factor = [=](std::int64_t count) { return count == step ? factor : 1.0; };
    return run;
  }
};

TEST_F(Divergence, SkipsAStepThatIsNotFinite) {
  for (const double factor : {kInfinity, std::nan("")}) {
    std::filesystem::remove_all(folder());
    const auto run = run_with(3, factor, short_run());

    EXPECT_EQ(run->start(), Outcome::kFinished);

    EXPECT_FALSE(std::isfinite(run->steps[2].gradient_norm));
    EXPECT_EQ(run->steps[1].skipped_steps, 0);
    EXPECT_EQ(run->steps.back().skipped_steps, 1);
    EXPECT_EQ(run->trainer.state().updates, run->trainer.state().step - 1);
    EXPECT_TRUE(at::isfinite(run->task.table()).all().item<bool>());
    EXPECT_TRUE(std::isfinite(run->logs[0].loss));  // over steps 1 and 2
    EXPECT_THAT(read_file(folder() / "metrics.jsonl"), Not(HasSubstr("null, \"accuracy\"")));
  }
}

TEST_F(Divergence, AllowsResumingAfterASavedStepThatIsNotFinite) {
  const auto run = run_with(3, std::nan(""), short_run());
  run->after_step = [&](const StepReport& report) { run->requests.stop = report.step == 3; };
  EXPECT_EQ(run->start(), Outcome::kInterrupted);

  TestRun resumed(folder(), short_run());
  EXPECT_EQ(resumed.resume(), Outcome::kFinished);
}

TEST_F(Divergence, EndsARunAfterMostSkippedStepsInARow) {
  TrainOptions options = short_run();
  options.epochs = 0;
  options.most_skipped = 30;
  options.save_every = 4;
  auto run = std::make_unique<TestRun>(folder(), options);
  run->task.loss_factor = [](std::int64_t count) { return count > 5 ? std::nan("") : 1.0; };

  EXPECT_THAT(
      [&] { run->start(); },
      ThrowsMessage<Error>("train: losses or gradients of the last 30 steps are not finite numbers, needs finite "
                           "ones; go on from " +
                           (folder() / "last").string() + " (step 32) with a lower learning rate"));
  EXPECT_EQ(run->steps.size(), 34U);
  run.reset();  // releases the lock of the run

  TestRun resumed(folder(), options);
  resumed.task.loss_factor = [](std::int64_t) { return std::nan(""); };
  EXPECT_THROW(resumed.resume(), Error);
  EXPECT_EQ(resumed.steps.size(), 2U);  // the saved state has 27 skipped steps in a row
}

TEST_F(Divergence, WarnsOfASpikeAndLogsIt) {
  const auto run = run_with(120, 20.0, options());

  EXPECT_EQ(run->start(), Outcome::kFinished);

  ASSERT_EQ(run->warnings.size(), 1U);
  EXPECT_EQ(run->warnings[0].first, 120);
  EXPECT_THAT(run->warnings[0].second,
              MatchesRegex("the loss of step 120 is [0-9.]+, after a mean of [0-9.]+ and a deviation of [0-9.e-]+"));
  EXPECT_THAT(read_file(folder() / "metrics.jsonl"), HasSubstr("{\"step\": 120, \"epoch\": "));
  EXPECT_THAT(read_file(folder() / "metrics.jsonl"), HasSubstr("\"spike_loss\": "));
}

TEST_F(Divergence, EndsARunAtASpikeByOption) {
  TrainOptions stop = options();
  stop.on_spike = SpikeReaction::kStop;
  const auto run = run_with(120, 20.0, stop);
  EXPECT_THAT([&] { run->start(); },
              ThrowsMessage<Error>(MatchesRegex("train: the loss of step 120 is .*; go on from .*/last \\(step 100\\) "
                                                "with a lower learning rate")));
}

TEST_F(Divergence, IgnoresSpikesByOption) {
  TrainOptions none = options();
  none.spike = 0.0;
  const auto run = run_with(120, 20.0, none);
  run->start();
  EXPECT_TRUE(run->warnings.empty());
}

}  // namespace
}  // namespace edgewise
