// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "edgewise/data/batch_shares.h"
#include "edgewise/distributed/process_group.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/observer.h"
#include "edgewise/train/run_files.h"
#include "edgewise/train/run_requests.h"
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
///     Trainer trainer(options, task, batches, observer);
///     trainer.open("runs/demo");
///     if (is_resumed) trainer.resume();
///     Outcome outcome = trainer.run(requests);
///
/// A step is one update (updater.h); its loss is the mean over its tokens. On the CPU, a run that stops and resumes
/// gives the same bits as an uninterrupted run. With weight averaging, the averages are validated and saved as models,
/// while training continues from the weights.
///
/// One thread calls all functions, and the observer is called in it; other threads may only set the requests. A thread
/// of the trainer's own writes checkpoints, and others prefetch batches.
///
/// Several processes may train together; all call the same functions. Process 0 alone reads and writes the run
/// directory. A step depends on `options.virtual_ranks` and not on the number of processes, which may differ when a run
/// is resumed. An error of the run directory is a CollectiveError, as is an error that all processes find; any other
/// error ends one process, and the others throw LostProcessError.
class Trainer {
 public:
  /// Moves the parameters of the task to `device`, where all steps compute (updater.h). Task, batches, observer and
  /// processes must outlive the trainer.
  Trainer(const TrainOptions& options, TrainingTask& task, BatchShares& batches, TrainObserver& observer,
          ProcessGroup& processes = single_process(), at::Device device = at::kCPU);

  /// Opens the run directory in process 0, before the other functions; the other processes do not call this function.
  /// `lock` is the directory's, if the caller holds it already.
  void open(std::filesystem::path run_directory, std::optional<RunLock> lock = std::nullopt);

  /// Restores the newest undamaged checkpoint of the run directory; warns when RUN/last is damaged. Throws Error as
  /// RunLock, restore_last and resume_from_last do.
  void resume();

  /// Restores RUN/last, which the caller has checked by restore_last. Throws Error as RunLock, read_last_state and
  /// read_last_tensors do, and if batches or seed differ from the run's.
  void resume_from_last();

  /// Trains to the end or until `requests.stop` of a process, which is read before each batch and during validations: a
  /// step that is not complete has no effect. A resumed run repeats the validation that was stopped. Saves before the
  /// first step too, so that every run can be resumed. Training pauses while the state is copied, and continues while
  /// the copy is written. At the end, saves the state, and then logs and validates the last step if this is not due
  /// anyway; the model may become RUN/best. A longer run would not validate at that step. Therefore resume() discards
  /// this validation and its model, and the resumed run gives the bits of the longer run. If a step's batches cannot be
  /// read, saves the state before the step and throws their Error. A failed write is a warning and is tried again at
  /// the next save (snapshot_writer.h). Throws Error when the run directory holds a run and resume() was not called,
  /// when another process trains there, when the disk has too little space for the checkpoints, when writes fail
  /// repeatedly, and when the last state cannot be written.
  Outcome run(RunRequests& requests);

  const TrainingState& state() const { return state_; }

 private:
  Outcome train(RunRequests& requests);
  Update update(RunRequests& requests);
  void train_one_step(RunRequests& requests);
  void record_update(const LossSums& sums);
  void count_skipped_step();
  void check_spike(double loss);
  std::string ask_first(const std::function<std::string()>& describe);
  void log();
  void validate(const StopRequest& stop);
  void report_end(const StopRequest& stop);
  Validation validate_and_save(const StopRequest& stop, bool is_due);
  Validation measure(const StopRequest& stop);
  bool is_best(const Validation& validation) const;
  void add_state_or_warn();
  void save_now();
  void add_state();
  CheckpointSizes checkpoint_sizes() const;
  bool is_due(std::int64_t every) const;
  std::optional<Outcome> find_outcome() const;
  std::int64_t epoch() const;
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  CheckpointObjects checkpoint_objects();
  std::optional<std::int64_t> num_averaged() const;
  StepReport make_report(const LossSums& sums) const;
  std::optional<std::int64_t> last_step() const;

  TrainOptions options_;
  TrainingTask& task_;
  TrainObserver& observer_;
  ProcessGroup& processes_;
  Updater updater_;
  std::optional<WeightAverage> average_;
  TrainingState state_;
  std::optional<RunFiles> files_;  // in process 0
  bool is_resumed_ = false;
  bool is_saved_ = false;           // whether the snapshot writer has the present state, or a checkpoint has it
  bool is_save_requested_ = false;  // in any of several processes
  TrainingTimer timer_;
};

}  // namespace edgewise
