// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/fields.h"
#include "edgewise/options/precision.h"

namespace edgewise {

/// How the learning rate goes with the step; schedule.h has the formulas.
enum class ScheduleKind { kConstant, kNoam, kInverseSqrt, kLinear, kCosine, kPlateau };

inline constexpr auto enum_names(ScheduleKind) {
  using Name = EnumName<ScheduleKind>;
  return std::array{Name{ScheduleKind::kConstant, "constant"},
                    Name{ScheduleKind::kNoam, "noam"},
                    Name{ScheduleKind::kInverseSqrt, "inverse_sqrt"},
                    Name{ScheduleKind::kLinear, "linear"},
                    Name{ScheduleKind::kCosine, "cosine"},
                    Name{ScheduleKind::kPlateau, "plateau"}};
}

/// What makes one validation better than another: by itself BLEU where it is measured, else the share of sequences that
/// are right, else the loss.
enum class BestBy { kAuto, kBleu, kSequences, kAccuracy, kLoss };

inline constexpr auto enum_names(BestBy) {
  return std::array{EnumName<BestBy>{BestBy::kAuto, "auto"}, EnumName<BestBy>{BestBy::kBleu, "bleu"},
                    EnumName<BestBy>{BestBy::kSequences, "sequences"}, EnumName<BestBy>{BestBy::kAccuracy, "accuracy"},
                    EnumName<BestBy>{BestBy::kLoss, "loss"}};
}

/// What follows a leap of the loss, beside a line in the metrics.
enum class OnSpike { kLog, kStop };

inline constexpr auto enum_names(OnSpike) {
  return std::array{EnumName<OnSpike>{OnSpike::kLog, "log"}, EnumName<OnSpike>{OnSpike::kStop, "stop"}};
}

/// A step is one update of the parameters. Where a number of steps is 0, the default below, the end of an epoch counts.
struct TrainOptions {
  std::int64_t steps = 0;
  std::int64_t epochs = 10;
  std::int64_t accumulate = 1;

  ScheduleKind schedule = ScheduleKind::kNoam;
  double learning_rate = 0.001;
  double min_learning_rate = 0.0;
  double factor = 1.0;
  std::int64_t warmup = 4000;
  double plateau_factor = 0.5;
  std::int64_t plateau_patience = 3;

  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0.0;
  double clip_norm = 0.0;
  double smoothing = 0.1;
  double rdrop = 0.0;
  Precision precision = Precision::kFp32;

  std::int64_t log_every = 50;
  std::int64_t validate_every = 0;
  std::int64_t save_every = 0;
  BestBy best_by = BestBy::kAuto;
  std::int64_t patience = 0;
  std::int64_t keep_best = 0;
  double average = 0.0;
  std::int64_t most_skipped = 100;
  double spike = 6.0;
  OnSpike on_spike = OnSpike::kLog;
  std::uint64_t seed = 1;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("steps", self.steps, "updates after which training ends; 0: no limit", at_least(0));
    field("epochs", self.epochs, "times through the training pairs after which it ends; 0: no limit", at_least(0));
    field("accumulate", self.accumulate, "batches whose gradients make one update", at_least(1));
    field("schedule", self.schedule, "how the learning rate goes with the step");
    field("learning_rate", self.learning_rate, "the highest, which the warm-up ends with; not of the Noam schedule",
          above(0));
    field("min_learning_rate", self.min_learning_rate, "where the cosine and plateau schedules stop falling",
          at_least(0));
    field("factor", self.factor, "of the Noam schedule: scales its rates", above(0));
    field("warmup", self.warmup, "steps over which the rate rises; 0: none", at_least(0));
    field("plateau_factor", self.plateau_factor, "plateau: what the rate is multiplied by when validations stall",
          above(0).below(1));
    field("plateau_patience", self.plateau_patience, "plateau: validations without improvement after which it is",
          at_least(1));
    field("beta1", self.beta1, "Adam: share that the mean of gradients keeps each step", at_least(0).below(1));
    field("beta2", self.beta2, "Adam: share that the mean of squared gradients keeps", at_least(0).below(1));
    field("epsilon", self.epsilon, "Adam: added to the root of the squared gradients", above(0));
    field("weight_decay", self.weight_decay, "share of the learning rate by which matrices shrink each step",
          at_least(0).below(1));
    field("clip_norm", self.clip_norm, "longest gradient, as the norm over all parameters; 0: no limit", at_least(0));
    field("smoothing", self.smoothing, "share of probability that label smoothing gives to other words",
          at_least(0).below(1));
    field("rdrop", self.rdrop,
          "R-Drop: each batch is read twice, under dropouts of their own, and this is the weight of how far the two "
          "distributions are apart; 0: read once",
          at_least(0));
    field("precision", self.precision, "fp32, or bf16 in linear layers and attention; validation is in fp32");
    field("log_every", self.log_every, "steps from one line of metrics to the next; 0: an epoch", at_least(0));
    field("validate_every", self.validate_every, "steps from one validation to the next; 0: an epoch", at_least(0));
    field("save_every", self.save_every, "steps from one checkpoint to the next; 0: an epoch", at_least(0));
    field("best_by", self.best_by, "what tells the better of two validations; equal ones by loss");
    field("patience", self.patience, "validations without improvement after which it ends; 0: no limit", at_least(0));
    field("keep_best", self.keep_best, "models of the best validations kept as RUN/step-…, beside RUN/best",
          at_least(0));
    field("average", self.average,
          "decay d of the average of weights, (1 - d) / (1 - d^t) · sum of d^(t - i) · weights after update i, that is "
          "validated and kept as best; 0: none",
          at_least(0).below(1));
    field("most_skipped", self.most_skipped, "steps in a row whose loss or gradient is not finite, after which it ends",
          at_least(1));
    field("spike", self.spike,
          "standard deviations above its mean over the last 100 steps from which on a loss is a leap; 0: none is",
          at_least(0));
    field("on_spike", self.on_spike, "whether training goes on or ends when the loss leaps");
    field("seed", self.seed, "what all random numbers of training come from");
  }
};

}  // namespace edgewise
