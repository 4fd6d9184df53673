// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/options/train_options.h"

namespace edgewise {

/// The state of the plateau schedule.
struct PlateauState {
  std::int64_t num_reductions = 0;       // multiplications of the rate by plateau_factor
  std::int64_t num_bad_validations = 0;  // validations since the last improvement or reduction

  bool operator==(const PlateauState&) const = default;
};

/// Computes the learning rate of a step; the first step is 1.
///
///     noam          factor · size^-0.5 · min(step^-0.5, step · warmup^-1.5)   (Vaswani et al. 2017, section 5.3)
///     inverse_sqrt  learning_rate · min(step / warmup, sqrt(warmup / step))
///     linear        learning_rate · min(step / warmup, rest)
///     cosine        learning_rate · step / warmup; after the warm-up
///                   min_learning_rate + (learning_rate - min_learning_rate) · (1 - cos(pi · rest)) / 2
///                   (Loshchilov and Hutter 2017, without restarts)
///     plateau       min(1, step / warmup) · max(min_learning_rate, learning_rate · plateau_factor^num_reductions)
///     constant      learning_rate · min(1, step / warmup)
///
/// where rest = (steps + 1 - step) / (steps + 1 - warmup), which is above 0 at the last step. Names other than step,
/// size and num_reductions are options (TrainOptions). num_reductions (PlateauState) grows by 1 when
/// plateau_patience successive validations have not improved on the best one.
class LearningRateSchedule {
 public:
  /// `size` is the size of a node's state. Throws Error as check_schedule does, and for noam with a size below 1.
  LearningRateSchedule(const TrainOptions& options, std::int64_t size);

  double operator()(std::int64_t step) const;

  /// Updates the plateau schedule after a validation. `is_best`: the validation is the best so far.
  void add_validation(bool is_best);

  const PlateauState& plateau() const { return plateau_; }
  void set_plateau(const PlateauState& plateau) { plateau_ = plateau; }

 private:
  double warmup_share(double step) const { return step < warmup_ ? step / warmup_ : 1.0; }
  double remaining_share(double step) const;
  double cosine_rate(double step) const;
  double plateau_rate() const;

  TrainOptions options_;
  double noam_scale_;  // factor · size^-0.5
  double warmup_;
  PlateauState plateau_;
};

}  // namespace edgewise
