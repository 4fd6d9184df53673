// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/run_files.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "lock";

FileDescriptor create_lock(const fs::path& run) {
  create_directories(run, "train");
  return open_regular_file(run / kLockFile, O_CREAT, "train");
}

void acquire(const FileDescriptor& file, const fs::path& run) {
  const bool is_held = ::flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  check(!is_held,
        "train: another process trains in {}, needs a run directory of its own; wait for that one's end, or "
        "choose another",
        run.string());
}

}  // namespace

RunLock::RunLock(const fs::path& run) : file_(create_lock(run)) { acquire(file_, run); }

void require_unlocked(const fs::path& run) {
  const FileDescriptor file(file_system().open(run / kLockFile, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0));
  if (file.is_open()) acquire(file, run);
}

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

RunFiles::RunFiles(const TrainOptions& options, TrainObserver& observer, std::filesystem::path run,
                   std::optional<RunLock> lock)
    : run_(std::move(run)),
      observer_(observer),
      best_checkpoints_(options.keep_best, options.best_by),
      lock_(std::move(lock)),
      writer_(observer) {}

void RunFiles::lock() {
  if (!lock_) lock_.emplace(run_);
}

void RunFiles::begin_run() {
  lock();
  require_no_run(run_);
  remove_leftovers(run_);
}

void RunFiles::continue_run(const TrainingState& saved) {
  best_checkpoints_.read(run_, saved.validated_step);
  put_best_back(run_, saved);
  writer_.set_saved_step(saved.step);
}

void RunFiles::check_space(const CheckpointSizes& sizes) {
  if (best_checkpoints_.is_enabled()) remove_checkpoints_except(run_, best_checkpoints_.names());
  require_space(run_, sizes);
}

std::string RunFiles::try_to_sync(TrainingState& state) {
  try {
    observer_.before_save();
    if (metrics_) state.metrics_size = metrics_->sync();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void RunFiles::sync(TrainingState& state) {
  const std::string error = try_to_sync(state);
  if (error.empty()) return;
  finish_what_can_be();
  fail("{}; {}", error, writer_.describe_saved_step());
}

void RunFiles::add_state(Snapshot state) {
  if (best_checkpoints_.is_enabled()) state.remaining_checkpoints = best_checkpoints_.names();
  writer_.add_state(std::move(state));
}

void RunFiles::add_if_best(TrainingTask& task, const FlatParameters& parameters, const CheckpointScore& score) {
  if (!best_checkpoints_.add(score.step, score.validation)) return;
  writer_.add_model([&] { return snapshot_model(run_ / checkpoint_name(score.step), task, parameters, score); });
}

void RunFiles::add_best(TrainingTask& task, const FlatParameters& parameters, const CheckpointScore& score) {
  writer_.add_model([&] { return snapshot_model(run_ / "best", task, parameters, score); });
}

void RunFiles::finish_what_can_be() {
  try {
    writer_.finish();
  } catch (const Error&) {  // RUN/last still holds an earlier state
  }
}

std::string RunFiles::describe_last_checkpoint(const std::string& kind) {
  finish_what_can_be();
  return fmt::format("{} (step {})", (run_ / "last").string(), read_last_state(run_, kind).step);
}

}  // namespace edgewise
