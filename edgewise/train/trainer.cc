// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/train/free_space.h"

namespace edgewise {
namespace {

double share(double part, std::int64_t whole) { return whole > 0 ? part / static_cast<double>(whole) : 0.0; }

/// For numbers that are compared and saved.
double without_nan(double number) { return std::isnan(number) ? std::numeric_limits<double>::infinity() : number; }

std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

}  // namespace

Trainer::Trainer(const TrainOptions& options, TrainingTask& task, BatchStream& batches, TrainObserver& observer,
                 std::filesystem::path run_directory)
    : options_(options),
      task_(task),
      observer_(observer),
      run_(std::move(run_directory)),
      update_(options, task, batches),
      kept_(options.keep_best, options.best_by),
      writer_(observer) {
  if (options.average > 0.0) average_.emplace(task.parameters(), options.average);
  state_.averaged = num_averaged();
  state_.seed = options.seed;
  state_.data_fingerprint = batches.fingerprint();
  state_.position = batches.position();
}

void Trainer::resume() {
  lock_.emplace(run_);
  const std::string damage = restore_last(run_);
  const TrainingState saved = read_last_state(run_, task_.kind());
  check(saved.seed == options_.seed, "train: seed is {}, but {} began with {}; set train.seed={} to go on",
        options_.seed, run_.string(), saved.seed, saved.seed);
  check(
      saved.data_fingerprint == state_.data_fingerprint,
      "train: the training pairs or batch options are not those of {}; go on with the files and options that it began "
      "with",
      run_.string());
  update_.batches().seek(saved.position);
  read_last_tensors(run_, saved, trained());
  update_.adam().set_counts(saved.updates, saved.step - saved.updates);
  update_.schedule().set_plateau(saved.plateau);
  kept_.read(run_, saved.step);
  state_ = saved;
  state_.averaged = num_averaged();
  is_saved_ = is_resumed_ = true;
  if (!damage.empty()) observer_.on_warning(saved.step, fmt::format("{}; its step is {}", damage, saved.step));
}

Outcome Trainer::run(RunRequests& requests) {
  if (!is_resumed_) begin();
  clean_up();
  require_room();
  save(true);
  writer_.finish();
  metrics_.emplace(run_ / "metrics.jsonl", state_.metrics_size);
  pace_.begin(state_.step);
  observer_.on_begin(state_.step);
  const Outcome outcome = train(requests);
  save(true);
  writer_.finish();
  lock_.reset();
  return outcome;
}

Outcome Trainer::train(RunRequests& requests) {
  while (!ended()) {
    if (requests.stop) return Outcome::kInterrupted;
    train_one_step();
    log(is_due(options_.log_every));
    validate(is_due(options_.validate_every));
    save(is_due(options_.save_every) || requests.save.exchange(false));
    writer_.write();
  }
  // What the last step brought, where that was not due by itself.
  log(true);
  validate(true);
  return *ended();
}

void Trainer::begin() {
  lock_.emplace(run_);
  require_no_run(run_);
}

/// Removes what a process that was killed left.
void Trainer::clean_up() {
  remove_leftovers(run_);
  if (kept_.is_keeping()) remove_other_checkpoints(run_, kept_.names());
}

void Trainer::require_room() {
  CheckpointSizes sizes;
  for (const NamedTensor& parameter : update_.adam().parameters()) sizes.model += parameter.tensor.nbytes();
  sizes.state = sizes.model * (average_ ? 4 : 3);  // with two moments, and the weights beside their averages
  sizes.models = task_.can_validate() ? 1 + options_.keep_best : 0;
  require_space(run_, sizes);
}

std::optional<Outcome> Trainer::ended() const {
  if (options_.steps > 0 && state_.step >= options_.steps) return Outcome::kFinished;
  if (options_.epochs > 0 && state_.position.epoch >= options_.epochs) return Outcome::kFinished;
  if (options_.patience > 0 && state_.validations_since_best >= options_.patience) return Outcome::kOutOfPatience;
  return std::nullopt;
}

bool Trainer::is_due(std::int64_t every) const {
  return every > 0 ? state_.step % every == 0 : state_.position.index == 0;
}

void Trainer::train_one_step() {
  const auto begin = Pace::Clock::now();
  const Update update = update_(++state_.step);
  is_saved_ = false;
  state_.gradient_norm = without_nan(update.gradient_norm);
  state_.updates = update_.adam().num_steps();
  state_.position = update_.batches().position();
  if (update.is_made()) {
    take_in(update.sums);
  } else {
    skip();
  }
  pace_.add_step(Pace::Clock::now() - begin, update.sums.tokens);
  observer_.on_step(report(update.sums));
}

void Trainer::take_in(const LogSums& sums) {
  if (average_) average_->update();
  state_.averaged = num_averaged();
  state_.skips_in_a_row = 0;
  state_.log += sums;
  watch_for_spike(share(sums.loss, sums.tokens));
}

void Trainer::skip() {
  if (++state_.skips_in_a_row < options_.most_skipped) return;
  fail(
      "train: losses or gradients of the last {} steps are not finite numbers, needs finite ones; go on from {} with a "
      "lower learning rate",
      state_.skips_in_a_row, last_good());
}

void Trainer::watch_for_spike(double loss) {
  LossStatistics& losses = state_.losses;
  const bool is_spike = options_.spike > 0.0 && losses.is_spike(loss, options_.spike);
  const double mean = losses.mean;
  const double deviation = losses.deviation();
  losses.add(loss);
  if (!is_spike) return;
  metrics_->append(state_.step, epoch(), {{"spike_loss", loss}, {"loss_mean", mean}, {"loss_deviation", deviation}});
  const std::string what =
      fmt::format("the loss of step {} is {:.4g}, after a mean of {:.4g} and a deviation of {:.4g}", state_.step, loss,
                  mean, deviation);
  if (options_.on_spike == OnSpike::kStop)
    fail("train: {}; go on from {} with a lower learning rate", what, last_good());
  observer_.on_warning(state_.step, what);
}

/// The checkpoint to go on from when training has gone wrong.
std::string Trainer::last_good() {
  try {
    writer_.finish();
  } catch (const Error&) {  // then the one before it counts
  }
  return fmt::format("{} (step {})", (run_ / "last").string(), read_last_state(run_, task_.kind()).step);
}

void Trainer::log(bool is_asked) {
  if (!is_asked || state_.log.tokens == 0) return;
  const StepReport means = report(state_.log);
  metrics_->append(means.step, means.epoch, metrics_of(means));
  state_.log = {};
  is_saved_ = false;
  pace_.restart();
  observer_.on_log(means);
}

void Trainer::validate(bool is_asked) {
  if (!is_asked || !task_.can_validate() || state_.validated_step == state_.step) return;
  const Validation validation = validate_averages();
  require_measured(validation, options_.best_by);
  const bool is_best = !state_.best || is_better(validation, *state_.best, options_.best_by);
  is_saved_ = false;
  state_.validated_step = state_.step;
  ++state_.validations_since_best;
  update_.schedule().validated(is_best);
  state_.plateau = update_.schedule().plateau();
  metrics_->append(state_.step, epoch(), metrics_of(validation));
  observer_.on_validation(state_.step, validation, is_best);
  if (kept_.add(state_.step, validation)) keep(name_of_step(state_.step), validation);
  if (!is_best) return;
  state_.validations_since_best = 0;
  state_.best = validation;
  state_.best_step = state_.step;
  keep("best", validation);
}

Validation Trainer::validate_averages() {
  const AveragedWeights averaged(average());
  Validation validation = task_.validate();
  validation.loss = without_nan(validation.loss);
  return validation;
}

void Trainer::keep(const std::string& name, const Validation& validation) {
  writer_.add([&] { return snapshot_model(run_ / name, trained(), {state_.step, validation}); });
}

void Trainer::save(bool is_asked) {
  if (!is_asked || is_saved_ || !save_metrics()) return;
  writer_.add([this] {
    Snapshot snapshot = snapshot_last(run_, trained(), state_);
    if (kept_.is_keeping()) snapshot.kept = kept_.names();
    return snapshot;
  });
  is_saved_ = true;
}

/// Before the state that counts on them; false when that fails. A run that begins has none.
bool Trainer::save_metrics() {
  if (!metrics_) return true;
  try {
    state_.metrics_size = metrics_->sync();
    return true;
  } catch (const Error& error) {
    writer_.fail(state_.step, error.what());
    return false;
  }
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
    const std::int64_t per_epoch = divide_up(update_.batches().batches_per_epoch(), options_.accumulate);
    const std::int64_t of_this_epoch = divide_up(state_.position.index, options_.accumulate);
    const std::int64_t by_epochs = state_.step + (options_.epochs - state_.position.epoch) * per_epoch - of_this_epoch;
    last = std::min(last.value_or(by_epochs), by_epochs);
  }
  if (last) last = std::max(*last, state_.step);  // a resumed run may be asked for less than it has done
  return last;
}

StepReport Trainer::report(const LogSums& sums) const {
  StepReport report;
  report.step = state_.step;
  report.epoch = epoch();
  report.loss = share(sums.loss, sums.tokens);
  report.accuracy = share(static_cast<double>(sums.correct), sums.tokens);
  report.learning_rate = update_.learning_rate(state_.step);
  report.gradient_norm = state_.gradient_norm;
  report.tokens = sums.tokens;
  report.encoder_steps = sums.encoder.mean();
  report.decoder_steps = sums.decoder.mean();
  report.seconds = pace_.seconds();
  report.tokens_per_second = pace_.tokens_per_second();
  report.skipped_steps = update_.adam().num_skipped();
  report.last_step = last_step();
  if (report.last_step) report.seconds_left = pace_.seconds_left(state_.step, *report.last_step);
  return report;
}

}  // namespace edgewise
