// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "edgewise/data/batches_ahead.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/adam.h"
#include "edgewise/train/schedule.h"
#include "edgewise/train/task.h"

namespace edgewise {

/// One update of the parameters, and what it was made from.
struct Update {
  LogSums sums;
  double gradient_norm = 0.0;  // per token, before clipping; not finite: the update was skipped

  bool is_made() const { return std::isfinite(gradient_norm); }
};

/// The step of training: a batch, prepared while the step before ran; its gradients; the update. What surrounds it,
/// such as checkpoints, is the trainer's; a benchmark has the same step without that. Task and batches must outlive it.
class Updater {
 public:
  Updater(const TrainOptions& options, TrainingTask& task, BatchStream& batches);

  /// Update number `step`, from 1, made from the next `options.accumulate` batches, or from fewer at the end of an
  /// epoch. Its random numbers are a function of (options.seed, step).
  Update operator()(std::int64_t step);

  BatchesAhead& batches() { return batches_; }
  const BatchesAhead& batches() const { return batches_; }
  double learning_rate(std::int64_t step) const { return schedule_(step); }
  Schedule& schedule() { return schedule_; }
  Adam& adam() { return adam_; }
  const Adam& adam() const { return adam_; }

 private:
  LogSums accumulate_gradients(std::int64_t step);
  Batch next_batch();
  BatchLoss forward(const Batch& batch, Pass& pass);
  static void backward(const BatchLoss& loss);

  TrainOptions options_;
  TrainingTask& task_;
  BatchesAhead batches_;
  Schedule schedule_;
  Adam adam_;
};

}  // namespace edgewise
