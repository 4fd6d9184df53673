// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/snapshot_writer.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"

namespace edgewise {

void SnapshotWriter::add_model(const std::function<Snapshot()>& make_snapshot) {
  collect_and_warn();
  waiting_.push_back(make_snapshot());
  drop_replaced_models();
  is_write_due_ = true;
}

void SnapshotWriter::make_room_for_state() {
  collect_and_warn();
  // A written state waits because a model could not be removed, and has no bytes.
  std::erase_if(waiting_, [](const Snapshot& snapshot) { return snapshot.is_state && !snapshot.is_written; });
  drop_replaced_models();
}

void SnapshotWriter::add_state(Snapshot state) {
  waiting_.push_back(std::move(state));
  is_write_due_ = true;
}

/// Removes each model that a newer model of its directory follows, unless a state in between refers to the older model.
void SnapshotWriter::drop_replaced_models() {
  std::set<std::filesystem::path> newer;
  for (auto snapshot = waiting_.end(); snapshot != waiting_.begin();) {
    --snapshot;
    if (snapshot->is_state) {
      newer.clear();
    } else if (!newer.insert(snapshot->directory).second) {
      snapshot = waiting_.erase(snapshot);
    }
  }
}

void SnapshotWriter::write() {
  const bool is_busy = writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (is_busy) return;
  collect_and_warn();
  if (is_write_due_) start_writing();
}

void SnapshotWriter::finish() {
  collect();  // failed snapshots wait again
  if (waiting_.empty()) return;
  start_writing();
  const std::string error = collect();
  check(error.empty(), "{}; {}", error, describe_saved_step());
}

void SnapshotWriter::add_failure(std::int64_t step, const std::string& error) {
  ++failures_;
  const std::string what = fmt::format("{}; {}", error, describe_saved_step());
  check(failures_ < kMaxFailures, "{}; {} saves in a row have failed", what, failures_);
  observer_.on_warning(step, what + "; training goes on, and the next save tries again");
}

std::string SnapshotWriter::describe_saved_step() const {
  return saved_step_ ? fmt::format("the last saved step is {}", *saved_step_) : "no step is saved";
}

SnapshotWriter::WriteResult SnapshotWriter::write_all(std::vector<Snapshot> snapshots) {
  WriteResult result{.snapshots = std::move(snapshots), .num_written = 0, .error = {}};
  try {
    for (Snapshot& snapshot : result.snapshots) {
      write_snapshot(snapshot);
      ++result.num_written;
    }
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

void SnapshotWriter::start_writing() {
  is_write_due_ = false;
  writing_ = run_in_background(
      [snapshots = std::exchange(waiting_, {})]() mutable { return write_all(std::move(snapshots)); });
}

/// Waits for a write in progress, reports its saves, and lets the unwritten snapshots wait again. Returns the error; ""
/// if there is none.
std::string SnapshotWriter::collect() {
  if (!writing_.valid()) return {};
  WriteResult result = writing_.get();
  const auto rest = result.snapshots.begin() + static_cast<std::ptrdiff_t>(result.num_written);
  for (auto written = result.snapshots.begin(); written != rest; ++written) {
    if (written->is_state) saved_step_ = written->step;
    observer_.on_save(written->step, written->directory);
  }
  if (rest != result.snapshots.end() && rest->is_state && rest->is_written) saved_step_ = rest->step;
  waiting_.insert(waiting_.begin(), std::move_iterator(rest), std::move_iterator(result.snapshots.end()));
  if (result.error.empty()) failures_ = 0;
  return result.error;
}

void SnapshotWriter::collect_and_warn() {
  const std::string error = collect();
  if (!error.empty()) add_failure(waiting_.front().step, error);
}

}  // namespace edgewise
