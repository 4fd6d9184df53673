// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/files/file_system.h"
#include "edgewise/options/train_options.h"
#include "edgewise/train/best_checkpoints.h"
#include "edgewise/train/checkpoint.h"
#include "edgewise/train/metrics_file.h"
#include "edgewise/train/observer.h"

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

/// Writes snapshots in a thread while training continues, the snapshots of one step at a time. If the system refuses to
/// start a thread, the calling thread writes. A snapshot waits until it is written or replaced by a newer snapshot of
/// its directory: after a failed write, the observer gets a warning, and the next write tries again. The destructor
/// waits for a write in progress.
class SnapshotWriter {
 public:
  static constexpr int kMaxFailures = 3;  // failures in a row before an Error

  explicit SnapshotWriter(TrainObserver& observer) : observer_(observer) {}

  /// Sets the saved step that errors name: the step of a resumed run.
  void set_saved_step(std::int64_t step) { saved_step_ = step; }

  /// Adds a snapshot of a model, after waiting for a write in progress.
  void add_model(const std::function<Snapshot()>& make_snapshot);

  /// Waits for a write in progress, and drops an older state that waits, so that memory never holds the states of two
  /// steps. Called before the snapshot of a state is made.
  void make_room_for_state();

  /// Adds a snapshot of the state (RUN/last).
  void add_state(Snapshot state);

  /// Returns at once while a write is in progress. Else reports the last write to the observer and, if a snapshot was
  /// added since then, starts to write all snapshots that wait, in the order in which they were added. A failure ends a
  /// write, so that a saved state never refers to models that are not written. Throws Error after kMaxFailures failures
  /// in a row.
  void write();

  /// Waits until every snapshot is written. Throws Error when one cannot be written.
  void finish();

  /// Warns the observer and counts a failed write. Throws Error after kMaxFailures failures in a row.
  void add_failure(std::int64_t step, const std::string& error);

  /// Returns "the last saved step is 20", or that no step is saved.
  std::string describe_saved_step() const;

 private:
  /// The snapshots of a write, of which the first `num_written` are written; `error` is empty if all are written.
  struct WriteResult {
    std::vector<Snapshot> snapshots;
    std::size_t num_written = 0;
    std::string error;
  };

  static WriteResult write_all(std::vector<Snapshot> snapshots);
  void drop_replaced_models();
  void start_writing();
  std::string collect();
  void collect_and_warn();

  TrainObserver& observer_;
  std::vector<Snapshot> waiting_;  // every snapshot that is neither written nor being written
  bool is_write_due_ = false;      // whether a snapshot was added after the last write began
  std::future<WriteResult> writing_;
  int failures_ = 0;  // in a row
  std::optional<std::int64_t> saved_step_;
};

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
