// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/options/train_options.h"

namespace edgewise {

/// The learning rate of a step; the first is 1.
///
///     noam      factor · size^-0.5 · min(step^-0.5, step · warmup^-1.5)   (Vaswani et al. 2017, section 5.3)
///     linear    learning_rate · min(step / warmup, (steps + 1 - step) / (steps + 1 - warmup)): down to the last step
///     constant  learning_rate, without a warm-up
class Schedule {
 public:
  /// `size` is that of a node's state. Throws Error for a Noam schedule with a size below 1, a warm-up below 1
  /// where there is one, and a linear schedule that has no number of steps, or not more than its warm-up.
  Schedule(const TrainOptions& options, std::int64_t size);

  double operator()(std::int64_t step) const;

 private:
  ScheduleKind kind_;
  double scale_;  // learning_rate, or factor · size^-0.5
  double warmup_;
  double steps_;
};

}  // namespace edgewise
