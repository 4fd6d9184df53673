// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/train/checkpoint.h"
#include "edgewise/train/observer.h"

namespace edgewise {

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
  /// The snapshots of a write; the first `num_written` of them are written; `error` is empty if all are written.
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

}  // namespace edgewise
