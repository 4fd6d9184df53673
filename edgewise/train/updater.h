// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "edgewise/base/error.h"
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

/// A batch cannot be prepared, for example because a file of the corpus has changed.
class BatchError : public Error {
 public:
  using Error::Error;
};

/// Runs training steps: takes prefetched batches, computes gradients, updates the parameters. Trainer adds checkpoints
/// and metrics; benchmarks use Updater alone. Task and batches must outlive the updater.
class Updater {
 public:
  Updater(const TrainOptions& options, TrainingTask& task, BatchStream& batches);

  /// Runs step number `step`, from 1, with the next `options.accumulate` batches, or fewer at the end of an epoch.
  /// Holds one of them at a time, while the next is prefetched. The random numbers of a step are a function of
  /// (options.seed, step). Throws BatchError if a batch cannot be prepared, and StopException if `stop` is set before
  /// the last batch; then the parameters stay, and all gradients are zero.
  Update operator()(std::int64_t step, const StopRequest* stop = nullptr);

  BatchPrefetcher& batches() { return batches_; }
  const BatchPrefetcher& batches() const { return batches_; }
  double learning_rate(std::int64_t step) const { return schedule_(step); }
  Schedule& schedule() { return schedule_; }
  Adam& adam() { return adam_; }
  const Adam& adam() const { return adam_; }

 private:
  LossSums accumulate_gradients(std::int64_t step, const StopRequest* stop);
  Batch next_batch(const StopRequest* stop);
  BatchLoss forward(const Batch& batch, Pass& pass);
  static void backward(const BatchLoss& loss);

  TrainOptions options_;
  TrainingTask& task_;
  BatchPrefetcher batches_;
  Schedule schedule_;
  Adam adam_;
};

}  // namespace edgewise
