// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/data/batch_prefetcher.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/adam.h"
#include "edgewise/train/schedule.h"
#include "edgewise/train/task.h"

namespace edgewise {

/// The result of one training step.
struct Update {
  LossSums sums;
  double gradient_norm = 0.0;  // per token, before clipping; not finite: parameters did not change

  bool is_applied() const { return std::isfinite(gradient_norm); }
};

/// Runs training steps: takes prefetched batches, computes gradients, updates the parameters. Trainer adds checkpoints
/// and metrics; benchmarks use Updater alone. Task and batches must outlive the updater.
class Updater {
 public:
  Updater(const TrainOptions& options, TrainingTask& task, BatchStream& batches);

  /// Returns the batches of the next step: the next `options.accumulate` batches, or fewer at the end of an epoch.
  /// Throws the errors of their preparation, and StopException if `stop` is set before the last batch.
  std::vector<Batch> next_batches(const StopRequest* stop = nullptr);

  /// Runs step number `step`, from 1, with the batches of next_batches(). The random numbers of a step are a function
  /// of (options.seed, step). Throws StopException, without an update, if `stop` is set before the last batch.
  Update operator()(std::int64_t step, const std::vector<Batch>& batches, const StopRequest* stop = nullptr);
  Update operator()(std::int64_t step) { return (*this)(step, next_batches()); }

  BatchPrefetcher& batches() { return batches_; }
  const BatchPrefetcher& batches() const { return batches_; }
  double learning_rate(std::int64_t step) const { return schedule_(step); }
  Schedule& schedule() { return schedule_; }
  Adam& adam() { return adam_; }
  const Adam& adam() const { return adam_; }

 private:
  LossSums accumulate_gradients(std::int64_t step, const std::vector<Batch>& batches, const StopRequest* stop);
  BatchLoss forward(const Batch& batch, Pass& pass);
  static void backward(const BatchLoss& loss);

  TrainOptions options_;
  TrainingTask& task_;
  BatchPrefetcher batches_;
  Schedule schedule_;
  Adam adam_;
};

}  // namespace edgewise
