// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/learning_rate_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

TrainOptions noam(double factor, std::int64_t warmup) {
  TrainOptions options;
  options.schedule = ScheduleKind::kNoam;
  options.factor = factor;
  options.warmup = warmup;
  return options;
}

TEST(LearningRateSchedule, HasTheRatesOfThePaper) {
  const LearningRateSchedule schedule(noam(1.0, 4000), 512);

  // schedule(1) = 512^-0.5 · 4000^-1.5
  EXPECT_NEAR(schedule(1), 1.746928107421711e-07, 1e-18);
  EXPECT_NEAR(schedule(4000), 6.987712429686843e-04, 1e-15);
  EXPECT_NEAR(schedule(16000), 3.493856214843421e-04, 1e-15);
}

TEST(LearningRateSchedule, IsTheNoamFormulaAtEachStep) {
  const LearningRateSchedule schedule(noam(2.0, 400), 128);
  for (std::int64_t step = 1; step < 2000; step += 7) {
    const auto now = static_cast<double>(step);
    const double expected = 2.0 * std::pow(128.0, -0.5) * std::min(std::pow(now, -0.5), now * std::pow(400.0, -1.5));
    EXPECT_NEAR(schedule(step), expected, 1e-15) << step;
  }
}

TEST(LearningRateSchedule, IsHighestAtTheEndOfTheWarmUp) {
  const LearningRateSchedule schedule(noam(1.0, 400), 128);
  EXPECT_LT(schedule(399), schedule(400));
  EXPECT_GT(schedule(400), schedule(401));
}

TEST(LearningRateSchedule, CanStayConstant) {
  TrainOptions options;
  options.schedule = ScheduleKind::kConstant;
  options.learning_rate = 0.005;
  options.warmup = 0;
  const LearningRateSchedule schedule(options, 32);

  EXPECT_EQ(schedule(1), 0.005);
  EXPECT_EQ(schedule(1000000), 0.005);
}

/// Options of 99 steps whose learning rate rises to 0.01 in the first 10.
TrainOptions warmup_options(ScheduleKind kind) {
  TrainOptions options;
  options.schedule = kind;
  options.learning_rate = 0.01;
  options.warmup = 10;
  options.steps = 99;
  return options;
}

TEST(LearningRateSchedule, RisesLinearlyToTheHighestRateForEachKind) {
  for (const ScheduleKind kind : {ScheduleKind::kConstant, ScheduleKind::kInverseSqrt, ScheduleKind::kLinear,
                                  ScheduleKind::kCosine, ScheduleKind::kPlateau}) {
    SCOPED_TRACE(enum_name(kind));
    const LearningRateSchedule schedule(warmup_options(kind), 32);
    for (std::int64_t step = 1; step <= 10; ++step) {
      EXPECT_NEAR(schedule(step), 0.001 * static_cast<double>(step), 1e-17) << step;
    }
    for (std::int64_t step = 11; step <= 99; ++step) EXPECT_LE(schedule(step), 0.01) << step;
  }
}

TEST(LearningRateSchedule, CanFallWithTheInverseSquareRootOfTheStep) {
  const LearningRateSchedule schedule(warmup_options(ScheduleKind::kInverseSqrt), 32);

  EXPECT_DOUBLE_EQ(schedule(40), 0.005);
  EXPECT_DOUBLE_EQ(schedule(1000), 0.001);
}

TEST(LearningRateSchedule, CanFallInACosineToItsLowestRate) {
  TrainOptions options = warmup_options(ScheduleKind::kCosine);
  options.min_learning_rate = 0.002;
  const LearningRateSchedule schedule(options, 32);

  EXPECT_DOUBLE_EQ(schedule(25),
                   0.002 + 0.008 * (1 + std::sqrt(3.0) / 2) / 2);  // a sixth of the steps after the warm-up
  EXPECT_DOUBLE_EQ(schedule(55), 0.006);
  EXPECT_GT(schedule(99), 0.002);
  EXPECT_DOUBLE_EQ(schedule(100), 0.002);
  EXPECT_DOUBLE_EQ(schedule(1000), 0.002);
}

TEST(LearningRateSchedule, IsCutAtAPlateauOfTheValidations) {
  TrainOptions options = warmup_options(ScheduleKind::kPlateau);
  options.plateau_factor = 0.1;
  options.plateau_patience = 2;
  options.min_learning_rate = 0.0005;
  LearningRateSchedule schedule(options, 32);

  for (const bool is_best : {true, false, true, false}) schedule.add_validation(is_best);
  EXPECT_DOUBLE_EQ(schedule(50), 0.01);
  schedule.add_validation(false);
  EXPECT_DOUBLE_EQ(schedule(50), 0.001);
  EXPECT_DOUBLE_EQ(schedule(5), 0.0005);
  EXPECT_EQ(schedule.plateau(), (PlateauState{.num_reductions = 1, .num_bad_validations = 0}));

  LearningRateSchedule resumed(options, 32);
  resumed.set_plateau(schedule.plateau());
  for (int i = 0; i < 2; ++i) resumed.add_validation(false);
  EXPECT_DOUBLE_EQ(resumed(50), 0.0005);
}

TEST(LearningRateSchedule, CanRiseAndFallLinearly) {
  TrainOptions options;
  options.schedule = ScheduleKind::kLinear;
  options.learning_rate = 0.01;
  options.warmup = 10;
  options.steps = 99;
  const LearningRateSchedule schedule(options, 32);

  EXPECT_DOUBLE_EQ(schedule(1), 0.001);
  EXPECT_DOUBLE_EQ(schedule(10), 0.01);
  EXPECT_DOUBLE_EQ(schedule(55), 0.005);
  EXPECT_DOUBLE_EQ(schedule(99), 0.01 / 90);
  EXPECT_EQ(schedule(1000), 0.0);
}

TEST(LearningRateSchedule, RejectsOptionsThatDoNotFitItsKind) {
  TrainOptions linear;
  linear.schedule = ScheduleKind::kLinear;
  linear.warmup = 10;
  linear.steps = 10;
  EXPECT_THAT([&] { LearningRateSchedule(linear, 8); },
              ThrowsMessage<Error>("Schedule: steps is 10, the linear schedule needs more than its warmup of 10"));

  EXPECT_THAT([] { LearningRateSchedule(noam(1.0, 0), 512); },
              ThrowsMessage<Error>("Schedule: warmup is 0, the noam schedule needs at least 1 step"));
  TrainOptions cosine = warmup_options(ScheduleKind::kCosine);
  cosine.min_learning_rate = 0.5;
  EXPECT_THAT([&] { LearningRateSchedule(cosine, 8); },
              ThrowsMessage<Error>("Schedule: min_learning_rate is 0.5, needs at most the learning_rate of 0.01"));
  EXPECT_THAT([] { LearningRateSchedule(noam(1.0, 10), 0); },
              ThrowsMessage<Error>("Schedule: size is 0, needs at least 1"));
  EXPECT_THAT([] { LearningRateSchedule(noam(1.0, 10), 8)(0); },
              ThrowsMessage<Error>("Schedule: step is 0, needs at least 1"));
}

TEST(TrainOptions, ReadTheSameAfterTheyAreWritten) {
  const auto options =
      parse_config<TrainOptions>("steps = 7\nschedule = \"constant\"\nclip_norm = 0.5\nseed = 3", "train.toml");

  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.schedule, ScheduleKind::kConstant);
  EXPECT_EQ(options.clip_norm, 0.5);
  EXPECT_EQ(to_toml(parse_config<TrainOptions>(to_toml(options), "again")), to_toml(options));
}

}  // namespace
}  // namespace edgewise
