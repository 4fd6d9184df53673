// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/data/batches.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/best_checkpoints.h"
#include "edgewise/train/checkpoint.h"
#include "edgewise/train/metrics.h"
#include "edgewise/train/observer.h"
#include "edgewise/train/run_lock.h"
#include "edgewise/train/run_requests.h"
#include "edgewise/train/snapshot_writer.h"
#include "edgewise/train/task.h"
#include "edgewise/train/training_timer.h"
#include "edgewise/train/updater.h"
#include "edgewise/train/weight_average.h"

namespace edgewise {

/// The reason for the end of Trainer::run.
enum class Outcome {
  kFinished,      // all steps or epochs are done
  kStoppedEarly,  // options.patience validations in a row did not improve
  kInterrupted,   // a request to stop; the state is saved
};

/// Trains a task and writes its run directory (checkpoint.h):
///
///     Trainer trainer(options, task, batches, observer, "runs/demo");
///     if (is_resumed) trainer.resume();
///     Outcome outcome = trainer.run(requests);
///
/// A step is one update (updater.h); its loss is the mean over its tokens. On the CPU, a run that stops and resumes
/// gives the same bits as an uninterrupted run. With weight averaging, the averages are validated and saved as models,
/// while training continues from the weights. Task, batches and observer must outlive the trainer.
/// `lock` is the run directory's, if the caller holds it already.
class Trainer {
 public:
  Trainer(const TrainOptions& options, TrainingTask& task, BatchStream& batches, TrainObserver& observer,
          std::filesystem::path run_directory, std::optional<RunLock> lock = std::nullopt);

  /// Restores the newest undamaged checkpoint of the run directory; warns when RUN/last is damaged. Throws Error as
  /// RunLock, restore_last and resume_from_last do.
  void resume();

  /// Restores RUN/last, which the caller has checked by restore_last. Throws Error as RunLock, read_last_state and
  /// read_last_tensors do, and if batches or seed differ from the run's.
  void resume_from_last();

  /// Trains to the end or until `requests.stop`, which is read before each batch and during validations: a
  /// step that is not complete has no effect. A resumed run
  /// repeats the validation that was stopped. Saves before the first step too, so that every run can be resumed.
  /// Training pauses while the state is copied, and continues while the copy is written.
  /// At the end, saves the state, and then logs and validates the last step if this is not due anyway; the model may
  /// become RUN/best. A longer run would not validate at that step. Therefore resume() discards this validation and its
  /// model, and the resumed run gives the bits of the longer run.
  /// If a step's batches cannot be read, saves the state before the step and throws their Error.
  /// A failed write is a warning and is tried again at the next save (snapshot_writer.h). Throws Error when the run
  /// directory holds a run and resume() was not called, when another process trains there, when the disk has too little
  /// space for the checkpoints, when writes fail repeatedly, and when the last state cannot be written.
  Outcome run(RunRequests& requests);

  const TrainingState& state() const { return state_; }

 private:
  void lock();
  Outcome train(RunRequests& requests);
  Update update(const StopRequest& stop);
  void train_one_step(const StopRequest& stop);
  void record_update(const LossSums& sums);
  void count_skipped_step();
  void check_spike(double loss);
  std::string describe_last_checkpoint();
  void finish_writing();
  void log_and_validate_if_due(const StopRequest& stop);
  void log();
  void validate(const StopRequest& stop);
  void report_end(const StopRequest& stop);
  Validation measure(const StopRequest& stop);
  bool is_best(const Validation& validation) const;
  void save_model(const std::string& name, const Validation& validation);
  void save_or_warn();
  void save_now();
  void sync_files();
  std::string try_to_sync_files();
  void add_state();
  void require_disk_space();
  bool is_due(std::int64_t every) const;
  std::optional<Outcome> find_outcome() const;
  std::int64_t epoch() const;
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  CheckpointObjects checkpoint_objects() { return {task_, updater_.adam(), average()}; }
  std::optional<std::int64_t> num_averaged() const;
  StepReport make_report(const LossSums& sums) const;
  std::optional<std::int64_t> last_step() const;

  TrainOptions options_;
  TrainingTask& task_;
  TrainObserver& observer_;
  std::filesystem::path run_;
  Updater updater_;
  std::optional<WeightAverage> average_;
  TrainingState state_;
  BestCheckpoints best_checkpoints_;
  std::optional<RunLock> lock_;
  std::optional<MetricsFile> metrics_;
  SnapshotWriter writer_;
  bool is_resumed_ = false;
  bool is_saved_ = false;  // whether writer_ has the present state, or a checkpoint has it
  TrainingTimer timer_;
};

}  // namespace edgewise
