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

/// Writes snapshots while training goes on, those of one step at a time. What cannot be written does not end a run at
/// once: the observer is warned, and it is tried again with the next; only as many failures in a row as kMostFailures
/// are an Error. Its end waits for what is being written.
class SnapshotWriter {
 public:
  static constexpr int kMostFailures = 3;

  explicit SnapshotWriter(TrainObserver& observer) : observer_(observer) {}

  /// Takes a snapshot to be written by the next write(). Waits first for what is being written, so that memory never
  /// holds the states of two steps.
  void add(const std::function<Snapshot()>& take);

  /// Tells what is written by now, and begins to write what was added: that which failed before first, and nothing
  /// behind what fails, so that a state is never newer than the models that it speaks of. Throws Error for the last of
  /// too many failures.
  void write();

  /// Waits until all is written. Throws Error when something is not.
  void finish();

  /// Counts as a snapshot that could not be written. Throws Error for the last of too many.
  void fail(std::int64_t step, const std::string& why);

 private:
  /// What came of a step's snapshots: those that are written, then those that are not, and why.
  struct Batch {
    std::vector<Snapshot> snapshots;
    std::size_t num_written = 0;
    std::string error;
  };

  static Batch written(std::vector<Snapshot> snapshots);
  void start();
  bool collect();
  void settle();

  TrainObserver& observer_;
  std::vector<Snapshot> added_;
  std::vector<Snapshot> failed_;
  std::string error_;      // of the last save; empty: it went well
  std::int64_t step_ = 0;  // of the same
  int failures_ = 0;       // in a row
  std::future<Batch> writing_;
};

}  // namespace edgewise
