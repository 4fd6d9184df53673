// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "edgewise/data/batches.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/checkpoint.h"
#include "edgewise/train/kept_checkpoints.h"
#include "edgewise/train/metrics.h"
#include "edgewise/train/observer.h"
#include "edgewise/train/pace.h"
#include "edgewise/train/run_lock.h"
#include "edgewise/train/run_requests.h"
#include "edgewise/train/snapshot_writer.h"
#include "edgewise/train/task.h"
#include "edgewise/train/updater.h"
#include "edgewise/train/weight_average.h"

namespace edgewise {

enum class Outcome {
  kFinished,       // all steps or epochs are done
  kOutOfPatience,  // validations have not improved for options.patience of them
  kInterrupted,    // asked to stop; all is saved
};

/// Trains a task and keeps its run directory (checkpoint.h):
///
///     Trainer trainer(options, task, batches, observer, "runs/demo");
///     if (is_resumed) trainer.resume();
///     Outcome outcome = trainer.run(requests);
///
/// A step is one update (updater.h); its loss is the mean over all its tokens. On the CPU, a run that stops and goes on
/// gives the same bits as one that never stopped. Task, batches and observer must outlive the trainer.
///
/// Where weights are averaged, it is the averages that are validated and kept as best; the weights go on training.
class Trainer {
 public:
  Trainer(const TrainOptions& options, TrainingTask& task, BatchStream& batches, TrainObserver& observer,
          std::filesystem::path run_directory);

  /// Goes on where the run directory's newest whole checkpoint is, and warns when that is not the last. Throws Error as
  /// RunLock, restore_last, read_last_state and read_last_tensors do, and for batches or a seed other than the run's.
  void resume();

  /// Trains to the end, or until asked to stop: requests are looked at before each step. Throws Error when the run
  /// directory holds a run and resume() was not called, when another process trains it, and when its disk has no room
  /// for what a run keeps. Saves before the first step too, so that any run can be resumed. A checkpoint stops training
  /// for a copy of its numbers; they are written while training goes on. What goes wrong with that is a warning and
  /// tried again at the next save; an Error at the end, and where it goes wrong time after time (snapshot_writer.h).
  Outcome run(RunRequests& requests);

  const TrainingState& state() const { return state_; }

 private:
  void begin();
  Outcome train(RunRequests& requests);
  void train_one_step();
  void take_in(const LogSums& sums);
  void skip();
  void watch_for_spike(double loss);
  std::string last_good();
  void log(bool is_asked);
  void validate(bool is_asked);
  Validation validate_averages();
  void keep(const std::string& name, const Validation& validation);
  void save(bool is_asked);
  bool save_metrics();
  void clean_up();
  void require_room();
  bool is_due(std::int64_t every) const;
  std::optional<Outcome> ended() const;
  std::int64_t epoch() const;
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  Trained trained() { return {task_, update_.adam(), average()}; }
  std::optional<std::int64_t> num_averaged() const;
  StepReport report(const LogSums& sums) const;
  std::optional<std::int64_t> last_step() const;

  TrainOptions options_;
  TrainingTask& task_;
  TrainObserver& observer_;
  std::filesystem::path run_;
  Updater update_;
  std::optional<WeightAverage> average_;
  TrainingState state_;
  KeptCheckpoints kept_;
  std::optional<RunLock> lock_;
  std::optional<MetricsFile> metrics_;
  SnapshotWriter writer_;
  bool is_resumed_ = false;
  bool is_saved_ = false;  // the present state

  Pace pace_;
};

}  // namespace edgewise
