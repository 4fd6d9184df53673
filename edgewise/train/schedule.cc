// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/schedule.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/error.h"

namespace edgewise {

Schedule::Schedule(const TrainOptions& options, std::int64_t size)
    : kind_(options.schedule),
      scale_(options.learning_rate),
      warmup_(static_cast<double>(options.warmup)),
      steps_(static_cast<double>(options.steps)) {
  if (kind_ == ScheduleKind::kConstant) return;
  check(options.warmup >= 1, "Schedule: warmup is {}, needs at least 1 step", options.warmup);
  if (kind_ == ScheduleKind::kLinear) {
    check(options.steps > options.warmup, "Schedule: steps is {}, the linear schedule needs more than its warmup of {}",
          options.steps, options.warmup);
    return;
  }
  check(size >= 1, "Schedule: size is {}, needs at least 1", size);
  scale_ = options.factor / std::sqrt(static_cast<double>(size));
}

double Schedule::operator()(std::int64_t step) const {
  check(step >= 1, "Schedule: step is {}, needs at least 1", step);
  const auto now = static_cast<double>(step);
  switch (kind_) {
    case ScheduleKind::kConstant:
      return scale_;
    case ScheduleKind::kLinear:
      return scale_ * std::min(now / warmup_, std::max(0.0, steps_ + 1 - now) / (steps_ + 1 - warmup_));
    case ScheduleKind::kNoam:
      return scale_ * std::min(1.0 / std::sqrt(now), now * std::pow(warmup_, -1.5));
  }
  fail("Schedule: kind is {}, needs one that enum_names lists", static_cast<int>(kind_));
}

}  // namespace edgewise
