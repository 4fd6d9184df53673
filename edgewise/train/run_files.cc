// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/run_files.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"

namespace edgewise {

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
