// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/distributed/agreement.h"

namespace edgewise {
namespace {

double divide(double part, std::int64_t whole) { return whole > 0 ? part / static_cast<double>(whole) : 0.0; }

/// Returns infinity for NaN, because losses are compared and saved.
double replace_nan(double number) { return std::isnan(number) ? std::numeric_limits<double>::infinity() : number; }

std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

/// Throws Error unless the options and pairs of a new state are those of the run's saved state.
void check_continues(const TrainingState& saved, const TrainingState& state, const std::filesystem::path& run) {
  check(saved.seed == state.seed, "train: seed is {}, but {} began with {}; set train.seed={} to go on", state.seed,
        run.string(), saved.seed, saved.seed);
  check(saved.positions.size() == state.positions.size(),
        "train: virtual_ranks is {}, but {} began with {}; set train.virtual_ranks={} to go on", state.positions.size(),
        run.string(), saved.positions.size(), saved.positions.size());
  check(
      saved.data_fingerprint == state.data_fingerprint,
      "train: the training pairs or batch options are not those of {}; go on with the files and options that it began "
      "with",
      run.string());
}

/// Returns the result of `work`, or kInterrupted when a request stopped it.
Outcome catch_stop(const std::function<Outcome()>& work) {
  try {
    return work();
  } catch (const StopException&) {
    return Outcome::kInterrupted;
  }
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, TrainingTask& task, BatchShares& batches, TrainObserver& observer,
                 ProcessGroup& processes, at::Device device)
    : options_(options),
      task_(task),
      observer_(observer),
      processes_(processes),
      updater_(options, task, batches, processes, device) {
  if (options.average > 0.0) average_.emplace(updater_.parameters(), updater_.pieces(), options.average);
  state_.averaged = num_averaged();
  state_.seed = options.seed;
  state_.data_fingerprint = batches.fingerprint();
  state_.positions = updater_.positions();
}

void Trainer::open(std::filesystem::path run_directory, std::optional<RunLock> lock) {
  files_.emplace(options_, observer_, std::move(run_directory), std::move(lock));
}

void Trainer::resume() {
  std::string damage;
  on_first_process(processes_, [&] {
    files_->lock();
    damage = restore_last(files_->path());
  });
  resume_from_last();
  if (!damage.empty()) observer_.on_warning(state_.step, fmt::format("{}; its step is {}", damage, state_.step));
}

void Trainer::resume_from_last() {
  std::string text;
  on_first_process(processes_, [&] {
    files_->lock();
    const TrainingState saved = read_last_state(files_->path(), task_.kind());
    check_continues(saved, state_, files_->path());
    text = training_state_text(saved, task_.kind());
  });
  const TrainingState saved = parse_training_state(broadcast_bytes(processes_, text), "the state", task_.kind());
  updater_.seek(saved.positions);
  read_last_tensors(files_ ? files_->path() : "", saved, checkpoint_objects());
  updater_.adam().set_counts(saved.updates, saved.step - saved.updates);
  updater_.schedule().set_plateau(saved.plateau);
  on_first_process(processes_, [&] { files_->continue_run(saved); });
  state_ = saved;
  state_.averaged = num_averaged();
  is_saved_ = is_resumed_ = true;
}

Outcome Trainer::run(RunRequests& requests) {
  on_first_process(processes_, [&] {
    if (!is_resumed_) files_->begin_run();
    files_->check_space(checkpoint_sizes());
  });
  save_now();
  on_first_process(processes_, [&] { files_->open_metrics(state_.metrics_size); });
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
  if (files_) files_->unlock();
  return outcome;
}

Outcome Trainer::train(RunRequests& requests) {
  while (true) {
    if (is_due(options_.log_every)) log();
    if (is_due(options_.validate_every)) validate(requests.stop);  // a resumed run may have been stopped before this
    // Several processes exchange their requests in each step (updater.h).
    const bool is_save_requested =
        processes_.size() == 1 ? requests.save.exchange(false) : std::exchange(is_save_requested_, false);
    if (is_save_requested || is_due(options_.save_every)) add_state_or_warn();
    if (files_) files_->writer().write();
    if (const std::optional<Outcome> outcome = find_outcome()) return *outcome;
    train_one_step(requests);
  }
}

CheckpointSizes Trainer::checkpoint_sizes() const {
  CheckpointSizes sizes;
  sizes.model = updater_.parameters().values().nbytes();
  sizes.state = sizes.model * (average_ ? 4 : 3);  // weights, two moments and, with averaging, the averages
  sizes.models = task_.can_validate() ? 2 + options_.keep_best : 0;  // best, best-scheduled, step-*
  return sizes;
}

std::optional<Outcome> Trainer::find_outcome() const {
  if (options_.steps > 0 && state_.step >= options_.steps) return Outcome::kFinished;
  if (options_.epochs > 0 && state_.finished_epochs() >= options_.epochs) return Outcome::kFinished;
  if (options_.patience > 0 && state_.validations_since_best >= options_.patience) return Outcome::kStoppedEarly;
  return std::nullopt;
}

bool Trainer::is_due(std::int64_t every) const {
  if (state_.step == 0) return false;
  return every > 0 ? state_.step % every == 0 : state_.step == state_.epoch_step;
}

/// Updates the parameters by the next step. If a batch cannot be read, for example because a file of the corpus has
/// changed, saves the state before the step.
Update Trainer::update(RunRequests& requests) {
  try {
    return updater_(state_.step + 1, requests);
  } catch (const BatchError& error) {
    try {
      save_now();
    } catch (const Error&) {  // the error of the batch is the cause, and the text tells what is saved
    }
    fail_together(processes_, fmt::format("{}; {}", error.what(),
                                          ask_first([&] { return files_->writer().describe_saved_step(); })));
  }
}

/// Throws StopException, without a change of the state, if the request is set before the step's last batch.
void Trainer::train_one_step(RunRequests& requests) {
  const auto begin = TrainingTimer::Clock::now();
  const Update done = update(requests);
  ++state_.step;
  is_saved_ = false;
  is_save_requested_ = done.is_save_requested;
  state_.gradient_norm = replace_nan(done.gradient_norm);
  state_.updates = updater_.adam().num_steps();
  const std::int64_t epochs = state_.finished_epochs();
  state_.positions = updater_.positions();
  if (state_.finished_epochs() > epochs) state_.epoch_step = state_.step;
  if (done.is_applied()) {
    record_update(done.sums);
  } else {
    count_skipped_step();
  }
  timer_.add_step(TrainingTimer::Clock::now() - begin, done);
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
  fail_together(processes_, fmt::format("train: losses or gradients of the last {} steps are not finite numbers, needs "
                                        "finite ones; go on from {} with a lower learning rate",
                                        state_.skips_in_a_row,
                                        ask_first([&] { return files_->describe_last_checkpoint(task_.kind()); })));
}

void Trainer::check_spike(double loss) {
  LossStatistics& losses = state_.losses;
  const bool is_spike = options_.spike > 0.0 && losses.is_spike(loss, options_.spike);
  const double mean = losses.mean;
  const double deviation = losses.deviation();
  losses.add(loss);
  if (!is_spike) return;
  if (files_) {
    files_->metrics().append(state_.step, epoch(),
                             {{"spike_loss", loss}, {"loss_mean", mean}, {"loss_deviation", deviation}});
  }
  const std::string warning =
      fmt::format("the loss of step {} is {:.4g}, after a mean of {:.4g} and a deviation of {:.4g}", state_.step, loss,
                  mean, deviation);
  if (options_.on_spike == SpikeReaction::kStop) {
    const std::string saved = ask_first([&] { return files_->describe_last_checkpoint(task_.kind()); });
    fail_together(processes_, fmt::format("train: {}; go on from {} with a lower learning rate", warning, saved));
  }
  observer_.on_warning(state_.step, warning);
}

/// Returns a text of process 0 to all processes, which call this function together.
std::string Trainer::ask_first(const std::function<std::string()>& describe) {
  return broadcast_bytes(processes_, files_ ? describe() : std::string());
}

void Trainer::log() {
  if (state_.log.tokens == 0) return;
  const StepReport means = make_report(state_.log);
  if (files_) files_->metrics().append(means.step, means.epoch, metrics_of(means));
  state_.log = {};
  is_saved_ = false;
  timer_.restart();
  observer_.on_log(means);
}

void Trainer::validate(const StopRequest& stop) {
  if (!task_.can_validate() || state_.validated_step == state_.step) return;
  const Validation validation = validate_and_save(stop, /*is_due=*/true);
  const bool improves = is_best(validation);
  is_saved_ = false;
  state_.validated_step = state_.step;
  ++state_.validations_since_best;
  updater_.schedule().add_validation(improves);
  state_.plateau = updater_.schedule().plateau();
  if (!improves) return;
  state_.validations_since_best = 0;
  state_.best = validation;
  state_.best_step = state_.step;
}

/// Logs and validates the last step unless this was due. Neither changes the saved state.
void Trainer::report_end(const StopRequest& stop) {
  log();
  if (task_.can_validate() && state_.validated_step != state_.step) validate_and_save(stop, /*is_due=*/false);
  on_first_process(processes_, [&] {
    files_->sync(state_);
    files_->writer().finish();
  });
}

/// Validates the averages, or the weights if there are no averages, and reports the result. Adds the models to save:
/// the best one, and a validation that was due if it is among the best of these. Throws StopException, in all
/// processes, before it changes anything.
Validation Trainer::validate_and_save(const StopRequest& stop, bool is_due) {
  Validation validation;
  {
    const AveragedWeights averaged(average());
    validation = measure(stop);
    const CheckpointScore score{state_.step, validation};
    if (files_ && is_due) files_->add_if_best(task_, updater_.parameters(), score);
    if (files_ && is_best(validation)) files_->add_best(task_, updater_.parameters(), score);
  }
  if (files_) files_->metrics().append(state_.step, epoch(), metrics_of(validation));
  updater_.gather_gradients();
  observer_.on_validation(state_.step, validation, is_best(validation));
  return validation;
}

Validation Trainer::measure(const StopRequest& stop) {
  const SerialOpenMpScope serial;
  Validation validation;
  stop_together(processes_, [&] { validation = task_.validate(stop); });
  validation.loss = replace_nan(validation.loss);
  require_measured(validation, options_.best_by);
  return validation;
}

bool Trainer::is_best(const Validation& validation) const {
  return !state_.best || is_better(validation, *state_.best, options_.best_by);
}

/// Adds the state to the snapshots to write, or warns when a file to which the run appends cannot be written.
void Trainer::add_state_or_warn() {
  const std::string error = files_ ? files_->try_to_sync(state_) : std::string();
  if (!is_any_set(processes_, !error.empty())) return add_state();
  if (files_) files_->writer().add_failure(state_.step, error);
}

/// Returns when the state and all models are saved.
void Trainer::save_now() {
  on_first_process(processes_, [&] { files_->sync(state_); });
  add_state();
  on_first_process(processes_, [&] { files_->writer().finish(); });
}

void Trainer::add_state() {
  if (is_saved_) return;
  try {
    require_finite("last", updater_.parameters(), state_.step);  // they are equal in all processes
  } catch (const Error& error) {
    if (files_) files_->finish_what_can_be();  // an older state may wait
    fail_together(processes_, error.what());
  }
  on_first_process(processes_, [&] { files_->writer().make_room_for_state(); });
  const CheckpointObjects objects = checkpoint_objects();
  const TrainingTensors tensors = gather_tensors(objects);
  if (files_) files_->add_state(snapshot_last(files_->path(), objects, tensors, state_));
  is_saved_ = true;
}

CheckpointObjects Trainer::checkpoint_objects() {
  return {task_, updater_.parameters(), updater_.pieces(), updater_.adam(), average()};
}

std::optional<std::int64_t> Trainer::num_averaged() const {
  return average_ ? std::optional(average_->num_updates()) : std::nullopt;
}

std::int64_t Trainer::epoch() const {
  const bool is_between_epochs = state_.step > 0 && state_.step == state_.epoch_step;
  return is_between_epochs ? state_.finished_epochs() : state_.finished_epochs() + 1;
}

std::optional<std::int64_t> Trainer::last_step() const {
  std::optional<std::int64_t> last;
  if (options_.steps > 0) last = options_.steps;
  if (options_.epochs > 0) {
    std::int64_t by_epochs = state_.step;
    for (std::size_t rank = 0; rank < state_.positions.size(); ++rank) {
      const BatchPosition& position = state_.positions[rank];
      const std::int64_t per_epoch = divide_up(updater_.batches_per_epoch()[rank], options_.accumulate);
      const std::int64_t done = divide_up(position.index, options_.accumulate);
      by_epochs = std::max(by_epochs, state_.step + (options_.epochs - position.epoch) * per_epoch - done);
    }
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
  if (processes_.size() > 1) {
    report.imbalance = timer_.imbalance();
    report.exchange_share = timer_.exchange_share();
  }
  report.seconds = timer_.seconds();
  report.tokens_per_second = timer_.tokens_per_second();
  report.skipped_steps = updater_.adam().num_skipped();
  report.last_step = last_step();
  if (report.last_step) report.seconds_left = timer_.seconds_left(state_.step, *report.last_step);
  return report;
}

}  // namespace edgewise
