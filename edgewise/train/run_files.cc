// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/run_files.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

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
