// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/options/train_options.h"

namespace edgewise {

/// What the plateau schedule knows of the validations.
struct Plateau {
  std::int64_t cuts = 0;   // times that the rate was multiplied by plateau_factor
  std::int64_t waits = 0;  // validations without improvement since the last of them

  bool operator==(const Plateau&) const = default;
};

/// The learning rate of a step; the first is 1.
///
///     noam          factor · size^-0.5 · min(step^-0.5, step · warmup^-1.5)   (Vaswani et al. 2017, section 5.3)
///     inverse_sqrt  learning_rate · min(step / warmup, sqrt(warmup / step))
///     linear        learning_rate · min(step / warmup, rest)
///     cosine        learning_rate · step / warmup; behind the warm-up
///                   min_learning_rate + (learning_rate - min_learning_rate) · (1 - cos(pi · rest)) / 2
///                   (Loshchilov and Hutter 2017, without restarts)
///     plateau       min(1, step / warmup) · max(min_learning_rate, learning_rate · plateau_factor^cuts)
///     constant      learning_rate · min(1, step / warmup)
///
/// where rest = (steps + 1 - step) / (steps + 1 - warmup): 0 would be the step behind the last, so that the last one
/// too is worth its time. A cut follows every plateau_patience validations in a row that are not the best so far.
class Schedule {
 public:
  /// `size` is that of a node's state. Throws Error for a Noam schedule with a size below 1; for Noam and inverse_sqrt
  /// with a warm-up below 1; for linear and cosine without a number of steps, or with one that is not more than the
  /// warm-up; and for a min_learning_rate above the learning rate, where it counts.
  Schedule(const TrainOptions& options, std::int64_t size);

  double operator()(std::int64_t step) const;

  /// To be told of each validation.
  void validated(bool is_best);

  const Plateau& plateau() const { return plateau_; }
  void set_plateau(const Plateau& plateau) { plateau_ = plateau; }

 private:
  double rise(double step) const;
  double rest(double step) const;
  double cosine(double step) const;
  double plateau_rate() const;

  TrainOptions options_;
  double scale_;  // of the Noam schedule: factor · size^-0.5
  double warmup_;
  Plateau plateau_;
};

}  // namespace edgewise
