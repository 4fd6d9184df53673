// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/snapshot_writer.h"

#include <chrono>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

void SnapshotWriter::add(const std::function<Snapshot()>& take) {
  settle();
  added_.push_back(take());
  // A newer one of the same directory makes up for one that failed.
  std::erase_if(failed_, [this](const Snapshot& failed) { return failed.directory == added_.back().directory; });
}

void SnapshotWriter::write() {
  const bool is_busy = writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (is_busy) return;
  settle();
  if (!added_.empty()) start();
}

void SnapshotWriter::finish() {
  collect();
  if (!added_.empty()) {
    start();
    collect();
  }
  if (!error_.empty()) throw Error(error_);
}

void SnapshotWriter::fail(std::int64_t step, const std::string& why) {
  error_ = why;
  ++failures_;
  check(failures_ < kMostFailures, "{}; {} saves in a row have failed", why, failures_);
  observer_.on_warning(step, fmt::format("{}; training goes on, and the next save tries again", why));
}

SnapshotWriter::Batch SnapshotWriter::written(std::vector<Snapshot> snapshots) {
  Batch batch{.snapshots = std::move(snapshots), .num_written = 0, .error = {}};
  try {
    for (Snapshot& snapshot : batch.snapshots) {
      write_snapshot(snapshot);
      snapshot.files.clear();
      ++batch.num_written;
    }
  } catch (const Error& error) {
    batch.error = error.what();
  }
  return batch;
}

void SnapshotWriter::start() {
  std::vector<Snapshot> snapshots = std::exchange(failed_, {});
  for (Snapshot& snapshot : added_) snapshots.push_back(std::move(snapshot));
  added_.clear();
  writing_ = std::async(std::launch::async, written, std::move(snapshots));
}

/// Waits for what is being written and takes what came of it; false when there is nothing.
bool SnapshotWriter::collect() {
  if (!writing_.valid()) return false;
  Batch batch = writing_.get();
  for (std::size_t i = 0; i < batch.snapshots.size(); ++i) {
    Snapshot& snapshot = batch.snapshots[i];
    if (i < batch.num_written) {
      observer_.on_save(snapshot.step, snapshot.directory);
    } else if (snapshot.old_name.empty()) {  // the next state of training makes up for this one, no model for another
      failed_.push_back(std::move(snapshot));
    }
  }
  step_ = batch.snapshots.back().step;
  error_ = batch.error;
  if (error_.empty()) failures_ = 0;
  return true;
}

void SnapshotWriter::settle() {
  if (collect() && !error_.empty()) fail(step_, error_);
}

}  // namespace edgewise
