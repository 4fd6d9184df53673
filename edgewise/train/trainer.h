// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "edgewise/data/batches.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/checkpoint.h"
#include "edgewise/train/metrics.h"
#include "edgewise/train/observer.h"
#include "edgewise/train/run_lock.h"
#include "edgewise/train/snapshot_writer.h"
#include "edgewise/train/task.h"
#include "edgewise/train/updater.h"

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
///     Outcome outcome = trainer.run(stop);
///
/// A step is one update (updater.h); its loss is the mean over all its tokens. On the CPU, a run that stops and goes on
/// gives the same bits as one that never stopped. Task, batches and observer must outlive the trainer.
class Trainer {
 public:
  Trainer(const TrainOptions& options, TrainingTask& task, BatchStream& batches, TrainObserver& observer,
          std::filesystem::path run_directory);

  /// Goes on where the run directory's newest checkpoint is. Throws Error as RunLock, read_last_state and
  /// read_last_tensors do, and for batches or a seed other than the run's.
  void resume();

  /// Trains to the end, or until `stop` is true: it is looked at before each step. Throws Error when the run directory
  /// holds a run and resume() was not called, and when another process trains it. Saves before the first step too, so
  /// that any run can be resumed. A checkpoint stops training for a copy of its numbers; they are written while
  /// training goes on, and what goes wrong with that comes out after a later step or at the end.
  Outcome run(const std::atomic<bool>& stop);

  const TrainingState& state() const { return state_; }

 private:
  using Clock = std::chrono::steady_clock;

  void begin();
  Outcome train(const std::atomic<bool>& stop);
  void train_one_step();
  void log(bool is_asked);
  void validate(bool is_asked);
  void save(bool is_asked);
  void keep(const std::function<Snapshot()>& take);
  void write_kept();
  void finish_writing();
  void announce(const std::vector<SnapshotWriter::Written>& written);
  bool is_due(std::int64_t every) const;
  std::optional<Outcome> ended() const;
  void check_skips() const;
  std::int64_t epoch() const;
  StepReport report(const LogSums& sums) const;
  std::optional<std::int64_t> last_step() const;

  TrainOptions options_;
  TrainingTask& task_;
  TrainObserver& observer_;
  std::filesystem::path run_;
  Updater update_;
  TrainingState state_;
  std::optional<RunLock> lock_;
  std::optional<MetricsFile> metrics_;
  std::vector<Snapshot> kept_;  // of this step, not yet being written
  SnapshotWriter writer_;
  bool is_resumed_ = false;
  std::int64_t saved_step_ = -1;
  std::int64_t skips_in_a_row_ = 0;

  double gradient_norm_ = 0.0;
  Clock::time_point begin_;      // of run()
  std::int64_t first_step_ = 0;  // the step at that time
  Clock::duration busy_{};       // time in steps since the last line of metrics
  std::int64_t busy_tokens_ = 0;
};

}  // namespace edgewise
