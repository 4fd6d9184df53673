// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "edgewise/train/checkpoint.h"
#include "edgewise/train/observer.h"

namespace edgewise {

/// Writes snapshots in a thread while training continues, the snapshots of one step at a time. Warns the observer of a
/// failed write and tries again with the next write. The destructor waits for a write in progress.
class SnapshotWriter {
 public:
  static constexpr int kMaxFailures = 3;  // failures in a row before an Error

  explicit SnapshotWriter(TrainObserver& observer) : observer_(observer) {}

  /// Waits for a write in progress, then makes a snapshot: memory never holds the states of two steps.
  void add(const std::function<Snapshot()>& make_snapshot);

  /// Returns at once while a write is in progress. Else reports the last write to the observer and starts to write the
  /// failed and the added snapshots, in this order. After a failure, skips the remaining snapshots, so that a saved
  /// state never refers to models that are not written. Throws Error after kMaxFailures failures in a row.
  void write();

  /// Waits until every snapshot is written. Throws Error when one cannot be written.
  void finish();

  /// Warns the observer and counts a failed write. Throws Error after kMaxFailures failures in a row.
  void add_failure(std::int64_t step, const std::string& error);

 private:
  /// The snapshots of a step, of which the first `num_written` are written; `error` is empty if all are written.
  struct WriteResult {
    std::vector<Snapshot> snapshots;
    std::size_t num_written = 0;
    std::string error;
  };

  static WriteResult write_all(std::vector<Snapshot> snapshots);
  void start_writing();
  bool wait_and_report();
  void wait_and_check();

  TrainObserver& observer_;
  std::vector<Snapshot> added_;
  std::vector<Snapshot> failed_;
  std::string error_;      // error of the last write; empty: none
  std::int64_t step_ = 0;  // step of the last write
  int failures_ = 0;       // in a row
  std::future<WriteResult> writing_;
};

}  // namespace edgewise
