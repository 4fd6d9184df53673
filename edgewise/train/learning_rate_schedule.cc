// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/learning_rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "edgewise/base/error.h"

namespace edgewise {

LearningRateSchedule::LearningRateSchedule(const TrainOptions& options, std::int64_t size)
    : options_(options),
      noam_scale_(options.factor / std::sqrt(static_cast<double>(size))),
      warmup_(static_cast<double>(options.warmup)) {
  check_schedule(options);
  check(options.schedule != ScheduleKind::kNoam || size >= 1, "Schedule: size is {}, needs at least 1", size);
}

double LearningRateSchedule::operator()(std::int64_t step) const {
  check(step >= 1, "Schedule: step is {}, needs at least 1", step);
  const auto now = static_cast<double>(step);
  const double highest = options_.learning_rate;
  switch (options_.schedule) {
    case ScheduleKind::kConstant:
      return highest * warmup_share(now);
    case ScheduleKind::kNoam:
      return noam_scale_ * std::min(1.0 / std::sqrt(now), now * std::pow(warmup_, -1.5));
    case ScheduleKind::kInverseSqrt:
      return highest * std::min(warmup_share(now), std::sqrt(warmup_ / now));
    case ScheduleKind::kLinear:
      return highest * std::min(warmup_share(now), remaining_share(now));
    case ScheduleKind::kCosine:
      return step <= options_.warmup ? highest * warmup_share(now) : cosine_rate(now);
    case ScheduleKind::kPlateau:
      return warmup_share(now) * plateau_rate();
  }
  fail("Schedule: kind is {}, needs one that enum_names lists", static_cast<int>(options_.schedule));
}

void LearningRateSchedule::add_validation(bool is_best) {
  plateau_.num_bad_validations = is_best ? 0 : plateau_.num_bad_validations + 1;
  if (plateau_.num_bad_validations < options_.plateau_patience) return;
  plateau_.num_bad_validations = 0;
  ++plateau_.num_reductions;
}

double LearningRateSchedule::remaining_share(double step) const {
  const double end = static_cast<double>(options_.steps) + 1.0;
  return std::max(0.0, end - step) / (end - warmup_);
}

double LearningRateSchedule::cosine_rate(double step) const {
  const double lowest = options_.min_learning_rate;
  return lowest + (options_.learning_rate - lowest) * (1.0 - std::cos(std::numbers::pi * remaining_share(step))) / 2.0;
}

double LearningRateSchedule::plateau_rate() const {
  const double cut =
      options_.learning_rate * std::pow(options_.plateau_factor, static_cast<double>(plateau_.num_reductions));
  return std::max(options_.min_learning_rate, cut);
}

}  // namespace edgewise
