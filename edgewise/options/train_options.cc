// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/train_options.h"

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

void check_warmup(const TrainOptions& options) {
  check(options.warmup >= 1, "Schedule: warmup is {}, the {} schedule needs at least 1 step", options.warmup,
        enum_name(options.schedule));
}

void check_end(const TrainOptions& options) {
  check(options.steps > options.warmup, "Schedule: steps is {}, the {} schedule needs more than its warmup of {}",
        options.steps, enum_name(options.schedule), options.warmup);
}

void check_lowest(const TrainOptions& options) {
  check(options.min_learning_rate <= options.learning_rate,
        "Schedule: min_learning_rate is {}, needs at most the learning_rate of {}", options.min_learning_rate,
        options.learning_rate);
}

}  // namespace

void check_schedule(const TrainOptions& options) {
  switch (options.schedule) {
    case ScheduleKind::kConstant:
      return;
    case ScheduleKind::kNoam:
    case ScheduleKind::kInverseSqrt:
      return check_warmup(options);
    case ScheduleKind::kLinear:
      return check_end(options);
    case ScheduleKind::kCosine:
      check_lowest(options);
      return check_end(options);
    case ScheduleKind::kPlateau:
      return check_lowest(options);
  }
  fail("Schedule: kind is {}, needs one that enum_names lists", static_cast<int>(options.schedule));
}

}  // namespace edgewise
