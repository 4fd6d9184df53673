// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/snapshot_writer.h"

#include <chrono>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

void SnapshotWriter::add(const std::function<Snapshot()>& make_snapshot) {
  wait_and_check();
  added_.push_back(make_snapshot());
  // The new snapshot replaces a failed snapshot of the same directory.
  std::erase_if(failed_, [this](const Snapshot& failed) { return failed.directory == added_.back().directory; });
}

void SnapshotWriter::write() {
  const bool is_busy = writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (is_busy) return;
  wait_and_check();
  if (!added_.empty()) start_writing();
}

void SnapshotWriter::finish() {
  wait_and_report();
  if (!added_.empty()) {
    start_writing();
    wait_and_report();
  }
  if (!error_.empty()) throw Error(error_);
}

void SnapshotWriter::add_failure(std::int64_t step, const std::string& error) {
  error_ = error;
  ++failures_;
  check(failures_ < kMaxFailures, "{}; {} saves in a row have failed", error, failures_);
  observer_.on_warning(step, fmt::format("{}; training goes on, and the next save tries again", error));
}

SnapshotWriter::WriteResult SnapshotWriter::write_all(std::vector<Snapshot> snapshots) {
  WriteResult result{.snapshots = std::move(snapshots), .num_written = 0, .error = {}};
  try {
    for (Snapshot& snapshot : result.snapshots) {
      write_snapshot(snapshot);
      snapshot.files.clear();
      ++result.num_written;
    }
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

void SnapshotWriter::start_writing() {
  std::vector<Snapshot> snapshots = std::exchange(failed_, {});
  for (Snapshot& snapshot : added_) snapshots.push_back(std::move(snapshot));
  added_.clear();
  writing_ = std::async(std::launch::async, write_all, std::move(snapshots));
}

/// Waits for a write in progress and reports its saves. Returns whether there was a write in progress.
bool SnapshotWriter::wait_and_report() {
  if (!writing_.valid()) return false;
  WriteResult result = writing_.get();
  for (std::size_t i = 0; i < result.snapshots.size(); ++i) {
    Snapshot& snapshot = result.snapshots[i];
    if (i < result.num_written) {
      observer_.on_save(snapshot.step, snapshot.directory);
    } else if (snapshot.old_name.empty()) {  // models are written again; a later state replaces a failed RUN/last
      failed_.push_back(std::move(snapshot));
    }
  }
  step_ = result.snapshots.back().step;
  error_ = result.error;
  if (error_.empty()) failures_ = 0;
  return true;
}

void SnapshotWriter::wait_and_check() {
  if (wait_and_report() && !error_.empty()) add_failure(step_, error_);
}

}  // namespace edgewise
