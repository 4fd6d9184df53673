// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

// Now and then a step overflows and training recovers; as many as this in a row it does not.
constexpr std::int64_t kMostSkipsInARow = 100;

double seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

double share(double part, std::int64_t whole) { return whole > 0 ? part / static_cast<double>(whole) : 0.0; }

std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

MetricsFile::Values metrics_of(const StepReport& report) {
  return {{"loss", report.loss},
          {"accuracy", report.accuracy},
          {"learning_rate", report.learning_rate},
          {"gradient_norm", report.gradient_norm},
          {"tokens_per_second", static_cast<std::int64_t>(report.tokens_per_second)},
          {"skipped_steps", report.skipped_steps},
          {"seconds", report.seconds}};
}

MetricsFile::Values metrics_of(const Validation& validation) {
  MetricsFile::Values values = {{"valid_loss", validation.loss}, {"valid_accuracy", validation.accuracy}};
  if (validation.sequence_accuracy) values.emplace_back("valid_sequence_accuracy", *validation.sequence_accuracy);
  if (validation.bleu) values.emplace_back("valid_bleu", *validation.bleu);
  return values;
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, TrainingTask& task, BatchStream& batches, TrainObserver& observer,
                 std::filesystem::path run_directory)
    : options_(options),
      task_(task),
      observer_(observer),
      run_(std::move(run_directory)),
      update_(options, task, batches) {
  state_.seed = options.seed;
  state_.data_fingerprint = batches.fingerprint();
  state_.position = batches.position();
}

void Trainer::resume() {
  lock_.emplace(run_);
  const TrainingState saved = read_last_state(run_, task_.kind());
  check(saved.seed == options_.seed, "train: seed is {}, but {} began with {}; set train.seed={} to go on",
        options_.seed, run_.string(), saved.seed, saved.seed);
  check(
      saved.data_fingerprint == state_.data_fingerprint,
      "train: the training pairs or batch options are not those of {}; go on with the files and options that it began "
      "with",
      run_.string());
  update_.batches().seek(saved.position);
  read_last_tensors(run_, update_.adam());
  update_.adam().set_counts(saved.updates, saved.step - saved.updates);
  update_.schedule().set_plateau(saved.plateau);
  state_ = saved;
  saved_step_ = saved.step;
  is_resumed_ = true;
}

Outcome Trainer::run(const std::atomic<bool>& stop) {
  if (!is_resumed_) begin();
  metrics_.emplace(run_ / "metrics.jsonl", state_.step);
  begin_ = Clock::now();
  first_step_ = state_.step;
  observer_.on_begin(state_.step);
  const Outcome outcome = train(stop);
  save(true);
  finish_writing();
  lock_.reset();
  return outcome;
}

Outcome Trainer::train(const std::atomic<bool>& stop) {
  while (!ended()) {
    if (stop) return Outcome::kInterrupted;
    train_one_step();
    log(is_due(options_.log_every));
    validate(is_due(options_.validate_every));
    save(is_due(options_.save_every));
    write_kept();
  }
  // What the last step brought, where that was not due by itself.
  log(true);
  validate(true);
  return *ended();
}

void Trainer::begin() {
  lock_.emplace(run_);
  require_no_run(run_);
  save(true);
  finish_writing();
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
  const Clock::time_point begin = Clock::now();
  const Update update = update_(++state_.step);
  gradient_norm_ = update.gradient_norm;
  skips_in_a_row_ = std::isfinite(gradient_norm_) ? 0 : skips_in_a_row_ + 1;
  check_skips();

  state_.updates = update_.adam().num_steps();
  state_.position = update_.batches().position();
  state_.log += update.sums;
  busy_ += Clock::now() - begin;
  busy_tokens_ += update.sums.tokens;
  observer_.on_step(report(update.sums));
}

void Trainer::check_skips() const {
  check(
      skips_in_a_row_ < kMostSkipsInARow,
      "train: the gradients of the last {} steps are not finite numbers, needs finite ones; go on from {} with a lower "
      "learning rate",
      skips_in_a_row_, (run_ / "last").string());
}

void Trainer::log(bool is_asked) {
  if (!is_asked || state_.log.tokens == 0) return;
  const StepReport means = report(state_.log);
  metrics_->append(means.step, means.epoch, metrics_of(means));
  state_.log = {};
  busy_ = {};
  busy_tokens_ = 0;
  observer_.on_log(means);
}

void Trainer::validate(bool is_asked) {
  if (!is_asked || !task_.can_validate() || state_.validated_step == state_.step) return;
  const Validation validation = task_.validate();
  const bool is_best = !state_.best || is_better(validation, *state_.best);
  state_.validated_step = state_.step;
  ++state_.validations_since_best;
  update_.schedule().validated(is_best);
  state_.plateau = update_.schedule().plateau();
  metrics_->append(state_.step, epoch(), metrics_of(validation));
  observer_.on_validation(state_.step, validation, is_best);
  if (!is_best) return;
  state_.validations_since_best = 0;
  state_.best = validation;
  state_.best_step = state_.step;
  keep([this] { return snapshot_best(run_, task_, state_.step); });
}

void Trainer::save(bool is_asked) {
  if (!is_asked || saved_step_ == state_.step) return;
  keep([this] { return snapshot_last(run_, task_, update_.adam(), state_); });
  saved_step_ = state_.step;
}

// Waits first for what is being written, so that memory never holds the copies of two steps.
void Trainer::keep(const std::function<Snapshot()>& take) {
  announce(writer_.wait());
  kept_.push_back(take());
}

void Trainer::write_kept() {
  announce(writer_.written());
  if (!kept_.empty()) writer_.start(std::exchange(kept_, {}));
}

void Trainer::finish_writing() {
  write_kept();
  announce(writer_.wait());
}

void Trainer::announce(const std::vector<SnapshotWriter::Written>& written) {
  for (const auto& [step, directory] : written) observer_.on_save(step, directory);
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
  report.gradient_norm = gradient_norm_;
  report.tokens = sums.tokens;
  report.seconds = seconds(Clock::now() - begin_);
  report.tokens_per_second = static_cast<double>(busy_tokens_) / std::max(seconds(busy_), 1e-9);
  report.skipped_steps = update_.adam().num_skipped();
  report.last_step = last_step();
  if (report.last_step) {
    const auto done = static_cast<double>(std::max<std::int64_t>(state_.step - first_step_, 1));
    report.seconds_left = report.seconds / done * static_cast<double>(*report.last_step - state_.step);
  }
  return report;
}

}  // namespace edgewise
