// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/fields.h"
#include "edgewise/options/precision.h"

namespace edgewise {

/// How the learning rate goes with the step; schedule.h has the formulas.
enum class ScheduleKind { kConstant, kNoam, kLinear };

inline constexpr auto enum_names(ScheduleKind) {
  return std::array{EnumName<ScheduleKind>{ScheduleKind::kConstant, "constant"},
                    EnumName<ScheduleKind>{ScheduleKind::kNoam, "noam"},
                    EnumName<ScheduleKind>{ScheduleKind::kLinear, "linear"}};
}

/// A step is one update of the parameters. Where a number of steps is 0, the default below, the end of an epoch counts.
struct TrainOptions {
  std::int64_t steps = 0;
  std::int64_t epochs = 10;
  std::int64_t accumulate = 1;

  ScheduleKind schedule = ScheduleKind::kNoam;
  double learning_rate = 0.001;
  double factor = 1.0;
  std::int64_t warmup = 4000;

  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0.0;
  double clip_norm = 0.0;
  double smoothing = 0.1;
  Precision precision = Precision::kFp32;

  std::int64_t log_every = 50;
  std::int64_t validate_every = 0;
  std::int64_t save_every = 0;
  std::int64_t patience = 0;
  std::uint64_t seed = 1;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("steps", self.steps, "updates after which training ends; 0: no limit", at_least(0));
    field("epochs", self.epochs, "times through the training pairs after which it ends; 0: no limit", at_least(0));
    field("accumulate", self.accumulate, "batches whose gradients make one update", at_least(1));
    field("schedule", self.schedule, "how the learning rate goes with the step");
    field("learning_rate", self.learning_rate, "of the constant schedule; the highest of the linear one", above(0));
    field("factor", self.factor, "of the Noam schedule: scales its rates", above(0));
    field("warmup", self.warmup, "steps over which the rate of the Noam and linear schedules rises", at_least(1));
    field("beta1", self.beta1, "Adam: share that the mean of gradients keeps each step", at_least(0).below(1));
    field("beta2", self.beta2, "Adam: share that the mean of squared gradients keeps", at_least(0).below(1));
    field("epsilon", self.epsilon, "Adam: added to the root of the squared gradients", above(0));
    field("weight_decay", self.weight_decay, "share of the learning rate by which matrices shrink each step",
          at_least(0).below(1));
    field("clip_norm", self.clip_norm, "longest gradient, as the norm over all parameters; 0: no limit", at_least(0));
    field("smoothing", self.smoothing, "share of probability that label smoothing gives to other words",
          at_least(0).below(1));
    field("precision", self.precision, "fp32, or bf16 in linear layers and attention; validation is in fp32");
    field("log_every", self.log_every, "steps from one line of metrics to the next; 0: an epoch", at_least(0));
    field("validate_every", self.validate_every, "steps from one validation to the next; 0: an epoch", at_least(0));
    field("save_every", self.save_every, "steps from one checkpoint to the next; 0: an epoch", at_least(0));
    field("patience", self.patience, "validations without improvement after which it ends; 0: no limit", at_least(0));
    field("seed", self.seed, "what all random numbers of training come from");
  }
};

}  // namespace edgewise
