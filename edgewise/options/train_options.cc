// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/train_options.h"

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// The options of a schedule, and the beginnings of an error and of an option's name.
struct ScheduleCheck {
  const TrainOptions& options;
  std::string_view caller;
  std::string_view prefix;

  void check_warmup() const {
    check(options.warmup >= 1, "{}: {}warmup is {}, the {} schedule needs at least 1 step", caller, prefix,
          options.warmup, enum_name(options.schedule));
  }

  void check_end() const {
    check(options.steps > options.warmup, "{}: {}steps is {}, the {} schedule needs more than its {}warmup of {}",
          caller, prefix, options.steps, enum_name(options.schedule), prefix, options.warmup);
  }

  void check_lowest() const {
    check(options.min_learning_rate <= options.learning_rate,
          "{}: {}min_learning_rate is {}, needs at most the {}learning_rate of {}", caller, prefix,
          options.min_learning_rate, prefix, options.learning_rate);
  }
};

}  // namespace

void check_schedule(const TrainOptions& options, std::string_view caller, std::string_view prefix) {
  const ScheduleCheck schedule = {options, caller, prefix};
  switch (options.schedule) {
    case ScheduleKind::kConstant:
      return;
    case ScheduleKind::kNoam:
    case ScheduleKind::kInverseSqrt:
      return schedule.check_warmup();
    case ScheduleKind::kLinear:
      return schedule.check_end();
    case ScheduleKind::kCosine:
      schedule.check_lowest();
      return schedule.check_end();
    case ScheduleKind::kPlateau:
      return schedule.check_lowest();
  }
  fail("{}: {}schedule is {}, needs one that enum_names lists", caller, prefix, static_cast<int>(options.schedule));
}

}  // namespace edgewise
