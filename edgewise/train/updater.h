// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <list>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/data/batch_prefetcher.h"
#include "edgewise/data/batch_shares.h"
#include "edgewise/distributed/process_group.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/adam.h"
#include "edgewise/train/flat_parameters.h"
#include "edgewise/train/gradient_sum.h"
#include "edgewise/train/learning_rate_schedule.h"
#include "edgewise/train/rank_reports.h"
#include "edgewise/train/run_requests.h"
#include "edgewise/train/task.h"

namespace edgewise {

/// The result of one training step, equal in all processes but for the time.
struct Update {
  LossSums sums;
  double gradient_norm = 0.0;      // per token, before clipping; not finite: parameters did not change
  bool is_save_requested = false;  // in any process
  double imbalance = 1.0;          // tokens of the process with most tokens, divided by the mean of all processes
  double exchange_seconds = 0.0;   // this process's time in exchanges, except while the backward pass runs

  bool is_applied() const { return std::isfinite(gradient_norm); }
};

/// A batch cannot be prepared, for example because a file of the corpus has changed.
class BatchError : public Error {
 public:
  using Error::Error;
};

/// Runs training steps: takes prefetched batches, computes and sums gradients, updates the parameters. Trainer adds
/// checkpoints and metrics; benchmarks use Updater alone. Several processes run the same steps together, each with its
/// virtual ranks. On the CPU, a step has the same bits with any number of threads and processes.
///
/// A process keeps all parameters and gradients, and the moments of its own pieces (OwnedPieces). One thread calls all
/// functions, while a thread for each virtual rank prefetches. Task, batches and processes must outlive the updater.
class Updater {
 public:
  /// Puts the parameters of the task into one array (FlatParameters) on `device`, where all steps compute. Throws Error
  /// if the virtual ranks of `batches` are not those that virtual_ranks_of() returns for the processes.
  Updater(const TrainOptions& options, TrainingTask& task, BatchShares& batches,
          ProcessGroup& processes = single_process(), at::Device device = at::kCPU);

  /// Runs step number `step`, from 1. Each virtual rank takes its next `options.accumulate` batches, or fewer at the
  /// end of its epoch, and holds one of them at a time, while the next is prefetched. The random numbers of a step are
  /// a function of (options.seed, step, virtual rank). If `requests.stop` is set in a process before its last backward
  /// pass, throws StopException in all processes; then the parameters stay, and all gradients are zero. Several
  /// processes also take `requests.save` of each other (Update). Throws BatchError in all processes if a batch cannot
  /// be prepared, and LostProcessError.
  Update operator()(std::int64_t step, RunRequests& requests);

  /// Runs a step without requests.
  Update operator()(std::int64_t step);

  /// Continues at positions, one for each virtual rank of all processes. Throws Error as BatchStream::seek does.
  void seek(const std::vector<BatchPosition>& positions);

  /// Returns the positions of all virtual ranks after the last step, without prefetched batches.
  const std::vector<BatchPosition>& positions() const { return progress_.positions; }

  /// Returns the number of batches in the present epoch of each virtual rank.
  const std::vector<std::int64_t>& batches_per_epoch() const { return progress_.batches_per_epoch; }

  /// Copies the sum of the gradients to the gradients of process 0, which has only its own pieces of the sum otherwise.
  /// All processes call this function.
  void gather_gradients();

  double learning_rate(std::int64_t step) const { return schedule_(step); }
  LearningRateSchedule& schedule() { return schedule_; }
  Adam& adam() { return adam_; }
  const Adam& adam() const { return adam_; }
  const FlatParameters& parameters() const { return parameters_; }
  const OwnedPieces& pieces() const { return pieces_; }

 private:
  /// The local results of the batches before the last backward pass.
  struct LocalStep {
    ProcessReport report;
    // For each virtual rank, BatchLoss::loss_and_correct of its batches, which is not in the report yet. Empty if the
    // report has all sums.
    std::vector<at::Tensor> unread;
    BatchLoss last_loss;  // its backward pass is still to be run

    /// Adds the unread losses to the report. Waits for their device.
    void read_losses();
  };

  LocalStep run_batches(std::int64_t step, RunRequests& requests);
  void run_virtual_rank(std::size_t index, std::int64_t step, const StopRequest& stop, LocalStep& local);
  Batch next_batch(BatchPrefetcher& batches, const StopRequest& stop);
  BatchLoss forward(const Batch& batch, Pass& pass);
  static void backward(const BatchLoss& loss);
  void backward_and_exchange(const BatchLoss& loss);
  void update_parameters(std::int64_t step, std::vector<at::Tensor> unread, Update& update);
  auto run_exchange(double& seconds, auto function) const;

  TrainOptions options_;
  TrainingTask& task_;
  ProcessGroup& processes_;
  VirtualRanks ranks_;
  FlatParameters parameters_;
  OwnedPieces pieces_;
  GradientSum gradient_sum_;
  std::list<BatchPrefetcher> batches_;  // one for each virtual rank of this process
  BatchProgress progress_;
  LearningRateSchedule schedule_;
  Adam adam_;
};

/// Returns the virtual ranks of a process. Throws Error unless `train.virtual_ranks` and the number of processes are
/// powers of two, and the processes are not more than the virtual ranks.
VirtualRanks virtual_ranks_of(const TrainOptions& options, const ProcessGroup& processes);

}  // namespace edgewise
