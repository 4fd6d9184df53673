// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "edgewise/base/files/file_system.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/best_checkpoints.h"
#include "edgewise/train/checkpoint.h"
#include "edgewise/train/metrics_file.h"
#include "edgewise/train/observer.h"
#include "edgewise/train/snapshot_writer.h"

namespace edgewise {

/// Prevents other processes from training in a run directory during its lifetime. Locks the file RUN/lock by flock, so
/// the lock ends with the process, and leaves the file in place. Has no effect on a file system without locks.
class RunLock {
 public:
  /// Creates a missing run directory. Throws Error, without waiting, when this or another process holds the lock.
  explicit RunLock(const std::filesystem::path& run);

 private:
  FileDescriptor file_;
};

/// Throws Error when a process trains in a run directory, which may be missing.
void require_unlocked(const std::filesystem::path& run);

/// The run directory (checkpoint.h) of a trainer: its lock, metrics and checkpoints. Of several processes that train
/// together, process 0 alone has one.
class RunFiles {
 public:
  /// `lock` is the directory's, if the caller holds it already. The observer must outlive this object.
  RunFiles(const TrainOptions& options, TrainObserver& observer, std::filesystem::path run,
           std::optional<RunLock> lock);

  const std::filesystem::path& path() const { return run_; }

  /// Locks the directory. Throws Error as RunLock does.
  void lock();
  void unlock() { lock_.reset(); }

  /// Prepares the directory for a new run. Throws Error when it holds a run.
  void begin_run();

  /// Prepares the directory for a run that goes on from RUN/last.
  void continue_run(const TrainingState& saved);

  /// Opens the metrics, whose size is that of the saved state, after the first save.
  void open_metrics(std::int64_t size) { metrics_.emplace(run_ / "metrics.jsonl", size); }
  MetricsFile& metrics() { return *metrics_; }

  /// Removes the step-* checkpoints of an unfinished run, and throws Error when the disk has too little space.
  void check_space(const CheckpointSizes& sizes);

  /// Writes the metrics and the observer's files to the disk, so that no saved state is newer than they are, and sets
  /// `state.metrics_size`. Returns the error; "" if there is none.
  std::string try_to_sync(TrainingState& state);

  /// As try_to_sync, but throws the error, which then says what is saved.
  void sync(TrainingState& state);

  /// Adds the state to the snapshots to write, after writer().make_room_for_state().
  void add_state(Snapshot state);

  /// Adds a model of a validation if it is among the best `keep_best` ones.
  void add_if_best(TrainingTask& task, const FlatParameters& parameters, const CheckpointScore& score);

  /// Adds RUN/best.
  void add_best(TrainingTask& task, const FlatParameters& parameters, const CheckpointScore& score);

  SnapshotWriter& writer() { return writer_; }

  /// Waits for the saves that can be written, before an error tells what is saved.
  void finish_what_can_be();

  /// Describes RUN/last for the error of a failed run.
  std::string describe_last_checkpoint(const std::string& kind);

 private:
  std::filesystem::path run_;
  TrainObserver& observer_;
  BestCheckpoints best_checkpoints_;
  std::optional<RunLock> lock_;
  std::optional<MetricsFile> metrics_;
  SnapshotWriter writer_;
};

}  // namespace edgewise
