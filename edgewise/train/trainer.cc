// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

double divide(double part, std::int64_t whole) { return whole > 0 ? part / static_cast<double>(whole) : 0.0; }

/// Returns infinity for NaN, because losses are compared and saved.
double replace_nan(double number) { return std::isnan(number) ? std::numeric_limits<double>::infinity() : number; }

std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

/// Returns the result of `work`, or kInterrupted when a request stopped it.
Outcome catch_stop(const std::function<Outcome()>& work) {
  try {
    return work();
  } catch (const StopException&) {
    return Outcome::kInterrupted;
  }
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, TrainingTask& task, BatchStream& batches, TrainObserver& observer,
                 std::filesystem::path run_directory, std::optional<RunLock> lock)
    : options_(options),
      task_(task),
      observer_(observer),
      run_(std::move(run_directory)),
      updater_(options, task, batches),
      best_checkpoints_(options.keep_best, options.best_by),
      lock_(std::move(lock)),
      writer_(observer) {
  if (options.average > 0.0) average_.emplace(task.parameters(), options.average);
  state_.averaged = num_averaged();
  state_.seed = options.seed;
  state_.data_fingerprint = batches.fingerprint();
  state_.position = batches.position();
}

void Trainer::lock() {
  if (!lock_) lock_.emplace(run_);
}

void Trainer::resume() {
  lock();
  const std::string damage = restore_last(run_);
  resume_from_last();
  if (!damage.empty()) observer_.on_warning(state_.step, fmt::format("{}; its step is {}", damage, state_.step));
}

void Trainer::resume_from_last() {
  lock();
  const TrainingState saved = read_last_state(run_, task_.kind());
  check(saved.seed == options_.seed, "train: seed is {}, but {} began with {}; set train.seed={} to go on",
        options_.seed, run_.string(), saved.seed, saved.seed);
  check(
      saved.data_fingerprint == state_.data_fingerprint,
      "train: the training pairs or batch options are not those of {}; go on with the files and options that it began "
      "with",
      run_.string());
  updater_.batches().seek(saved.position);
  read_last_tensors(run_, saved, checkpoint_objects());
  updater_.adam().set_counts(saved.updates, saved.step - saved.updates);
  updater_.schedule().set_plateau(saved.plateau);
  best_checkpoints_.read(run_, saved.validated_step);
  state_ = saved;
  state_.averaged = num_averaged();
  put_best_back(run_, saved);
  writer_.set_saved_step(saved.step);
  is_saved_ = is_resumed_ = true;
}

Outcome Trainer::run(RunRequests& requests) {
  if (!is_resumed_) {
    lock();
    require_no_run(run_);
    remove_leftovers(run_);
  }
  if (best_checkpoints_.is_enabled()) remove_checkpoints_except(run_, best_checkpoints_.names());
  require_disk_space();
  save_now();
  metrics_.emplace(run_ / "metrics.jsonl", state_.metrics_size);
  timer_.begin(state_.step);
  observer_.on_begin({.step = state_.step,
                      .is_logged = state_.step > 0 && state_.log.tokens == 0,
                      .validated_step = state_.validated_step});
  Outcome outcome = catch_stop([&] { return train(requests); });
  save_now();
  if (outcome != Outcome::kInterrupted) {
    outcome = catch_stop([&] {
      report_end(requests.stop);
      return outcome;
    });
  }
  lock_.reset();
  return outcome;
}

Outcome Trainer::train(RunRequests& requests) {
  while (true) {
    log_and_validate_if_due(requests.stop);  // a resumed run may have been stopped in between
    const bool is_requested = requests.save.exchange(false);
    if (is_requested || is_due(options_.save_every)) save_or_warn();
    writer_.write();
    if (const std::optional<Outcome> outcome = find_outcome()) return *outcome;
    if (requests.stop) return Outcome::kInterrupted;
    train_one_step(requests.stop);
  }
}

void Trainer::log_and_validate_if_due(const StopRequest& stop) {
  if (is_due(options_.log_every)) log();
  if (is_due(options_.validate_every)) validate(stop);
}

void Trainer::require_disk_space() {
  CheckpointSizes sizes;
  for (const NamedTensor& parameter : updater_.adam().parameters()) sizes.model += parameter.tensor.nbytes();
  sizes.state = sizes.model * (average_ ? 4 : 3);  // weights, two moments and, with averaging, the averages
  sizes.models = task_.can_validate() ? 2 + options_.keep_best : 0;  // best, best-scheduled, step-*
  require_space(run_, sizes);
}

std::optional<Outcome> Trainer::find_outcome() const {
  if (options_.steps > 0 && state_.step >= options_.steps) return Outcome::kFinished;
  if (options_.epochs > 0 && state_.position.epoch >= options_.epochs) return Outcome::kFinished;
  if (options_.patience > 0 && state_.validations_since_best >= options_.patience) return Outcome::kStoppedEarly;
  return std::nullopt;
}

bool Trainer::is_due(std::int64_t every) const {
  if (state_.step == 0) return false;
  return every > 0 ? state_.step % every == 0 : state_.position.index == 0;
}

/// Updates the parameters by the next step. If a batch cannot be read, for example because a file of the corpus has
/// changed, saves the state before the step.
Update Trainer::update(const StopRequest& stop) {
  try {
    return updater_(state_.step + 1, &stop);
  } catch (const BatchError& error) {
    try {
      save_now();
    } catch (const Error&) {  // the error of the batch is the cause, and the text tells what is saved
    }
    fail("{}; {}", error.what(), writer_.describe_saved_step());
  }
}

/// Throws StopException, without a change of the state, if the request is set before the step's last batch.
void Trainer::train_one_step(const StopRequest& stop) {
  const auto begin = TrainingTimer::Clock::now();
  const Update done = update(stop);
  ++state_.step;
  is_saved_ = false;
  state_.gradient_norm = replace_nan(done.gradient_norm);
  state_.updates = updater_.adam().num_steps();
  state_.position = updater_.batches().position();
  if (done.is_applied()) {
    record_update(done.sums);
  } else {
    count_skipped_step();
  }
  timer_.add_step(TrainingTimer::Clock::now() - begin, done.sums.tokens);
  observer_.on_step(make_report(done.sums));
}

void Trainer::record_update(const LossSums& sums) {
  if (average_) average_->update();
  state_.averaged = num_averaged();
  state_.skips_in_a_row = 0;
  state_.log += sums;
  check_spike(divide(sums.loss, sums.tokens));
}

void Trainer::count_skipped_step() {
  if (++state_.skips_in_a_row < options_.most_skipped) return;
  fail(
      "train: losses or gradients of the last {} steps are not finite numbers, needs finite ones; go on from {} with a "
      "lower learning rate",
      state_.skips_in_a_row, describe_last_checkpoint());
}

void Trainer::check_spike(double loss) {
  LossStatistics& losses = state_.losses;
  const bool is_spike = options_.spike > 0.0 && losses.is_spike(loss, options_.spike);
  const double mean = losses.mean;
  const double deviation = losses.deviation();
  losses.add(loss);
  if (!is_spike) return;
  metrics_->append(state_.step, epoch(), {{"spike_loss", loss}, {"loss_mean", mean}, {"loss_deviation", deviation}});
  const std::string warning =
      fmt::format("the loss of step {} is {:.4g}, after a mean of {:.4g} and a deviation of {:.4g}", state_.step, loss,
                  mean, deviation);
  if (options_.on_spike == SpikeReaction::kStop)
    fail("train: {}; go on from {} with a lower learning rate", warning, describe_last_checkpoint());
  observer_.on_warning(state_.step, warning);
}

/// Describes RUN/last for the error of a failed run.
std::string Trainer::describe_last_checkpoint() {
  finish_writing();
  return fmt::format("{} (step {})", (run_ / "last").string(), read_last_state(run_, task_.kind()).step);
}

/// Waits for the saves that can be written, before an error tells what is saved.
void Trainer::finish_writing() {
  try {
    writer_.finish();
  } catch (const Error&) {  // RUN/last still holds an earlier state
  }
}

void Trainer::log() {
  if (state_.log.tokens == 0) return;
  const StepReport means = make_report(state_.log);
  metrics_->append(means.step, means.epoch, metrics_of(means));
  state_.log = {};
  is_saved_ = false;
  timer_.restart();
  observer_.on_log(means);
}

void Trainer::validate(const StopRequest& stop) {
  if (!task_.can_validate() || state_.validated_step == state_.step) return;
  const Validation validation = measure(stop);
  const bool improves = is_best(validation);
  is_saved_ = false;
  state_.validated_step = state_.step;
  ++state_.validations_since_best;
  updater_.schedule().add_validation(improves);
  state_.plateau = updater_.schedule().plateau();
  if (best_checkpoints_.add(state_.step, validation)) save_model(checkpoint_name(state_.step), validation);
  if (!improves) return;
  state_.validations_since_best = 0;
  state_.best = validation;
  state_.best_step = state_.step;
  save_model("best", validation);
}

/// Logs and validates the last step unless this was due. Neither changes the saved state.
void Trainer::report_end(const StopRequest& stop) {
  log();
  if (task_.can_validate() && state_.validated_step != state_.step) {
    const Validation validation = measure(stop);
    if (is_best(validation)) save_model("best", validation);
  }
  sync_files();
  writer_.finish();
}

/// Validates the averages, or the weights if there are no averages, and reports the result. Throws StopException before
/// it changes anything.
Validation Trainer::measure(const StopRequest& stop) {
  Validation validation;
  {
    const SerialOpenMpScope serial;
    const AveragedWeights averaged(average());
    validation = task_.validate(stop);
  }
  validation.loss = replace_nan(validation.loss);
  require_measured(validation, options_.best_by);
  metrics_->append(state_.step, epoch(), metrics_of(validation));
  observer_.on_validation(state_.step, validation, is_best(validation));
  return validation;
}

bool Trainer::is_best(const Validation& validation) const {
  return !state_.best || is_better(validation, *state_.best, options_.best_by);
}

void Trainer::save_model(const std::string& name, const Validation& validation) {
  writer_.add_model([&] { return snapshot_model(run_ / name, checkpoint_objects(), {state_.step, validation}); });
}

/// Adds the state to the snapshots to write, or warns when a file to which the run appends cannot be written.
void Trainer::save_or_warn() {
  const std::string error = try_to_sync_files();
  if (!error.empty()) return writer_.add_failure(state_.step, error);
  add_state();
}

/// Returns when the state and all models are saved.
void Trainer::save_now() {
  sync_files();
  add_state();
  writer_.finish();
}

void Trainer::sync_files() {
  const std::string error = try_to_sync_files();
  if (error.empty()) return;
  finish_writing();
  fail("{}; {}", error, writer_.describe_saved_step());
}

/// Writes the metrics and the observers' files to the disk, so that no saved state is newer than they are. Returns the
/// error; "" if there is none.
std::string Trainer::try_to_sync_files() {
  try {
    observer_.before_save();
    if (metrics_) state_.metrics_size = metrics_->sync();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void Trainer::add_state() {
  if (is_saved_) return;
  const auto check_state = [this] { require_finite(run_ / "last", checkpoint_objects(), state_.step); };
  const auto make_snapshot = [this] {
    Snapshot snapshot = snapshot_last(run_, checkpoint_objects(), state_);
    if (best_checkpoints_.is_enabled()) snapshot.remaining_checkpoints = best_checkpoints_.names();
    return snapshot;
  };
  try {
    writer_.add_state(check_state, make_snapshot);
  } catch (const Error&) {
    finish_writing();  // an older state may wait
    throw;
  }
  is_saved_ = true;
}

std::optional<std::int64_t> Trainer::num_averaged() const {
  return average_ ? std::optional(average_->num_updates()) : std::nullopt;
}

std::int64_t Trainer::epoch() const {
  const bool is_between_epochs = state_.step > 0 && state_.position.index == 0;
  return is_between_epochs ? state_.position.epoch : state_.position.epoch + 1;
}

std::optional<std::int64_t> Trainer::last_step() const {
  std::optional<std::int64_t> last;
  if (options_.steps > 0) last = options_.steps;
  if (options_.epochs > 0) {
    const std::int64_t per_epoch = divide_up(updater_.batches().batches_per_epoch(), options_.accumulate);
    const std::int64_t done = divide_up(state_.position.index, options_.accumulate);
    const std::int64_t by_epochs = state_.step + (options_.epochs - state_.position.epoch) * per_epoch - done;
    last = std::min(last.value_or(by_epochs), by_epochs);
  }
  if (last) last = std::max(*last, state_.step);  // a resumed run may have more steps than the new limit
  return last;
}

StepReport Trainer::make_report(const LossSums& sums) const {
  StepReport report;
  report.step = state_.step;
  report.epoch = epoch();
  report.loss = divide(sums.loss, sums.tokens);
  report.accuracy = divide(static_cast<double>(sums.correct), sums.tokens);
  report.learning_rate = updater_.learning_rate(state_.step);
  report.gradient_norm = state_.gradient_norm;
  report.tokens = sums.tokens;
  report.encoder_steps = sums.encoder.mean();
  report.decoder_steps = sums.decoder.mean();
  report.seconds = timer_.seconds();
  report.tokens_per_second = timer_.tokens_per_second();
  report.skipped_steps = updater_.adam().num_skipped();
  report.last_step = last_step();
  if (report.last_step) report.seconds_left = timer_.seconds_left(state_.step, *report.last_step);
  return report;
}

}  // namespace edgewise
