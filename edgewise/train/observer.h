// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/train/task.h"

namespace edgewise {

/// Measurements after a step. Loss, accuracy, tokens and ponder steps cover the step itself in on_step(), and all steps
/// since the previous line of metrics in on_log().
struct StepReport {
  std::int64_t step = 0;
  std::int64_t epoch = 0;  // from 1
  double loss = 0.0;       // per token
  double accuracy = 0.0;   // share of correct tokens
  double learning_rate = 0.0;
  double gradient_norm = 0.0;  // before clipping
  std::int64_t tokens = 0;
  double tokens_per_second = 0.0;
  std::optional<double> encoder_steps;  // mean ponder steps of a node, for models with adaptive computation
  std::optional<double> decoder_steps;
  std::optional<double> imbalance;        // mean of Update::imbalance, if several processes train together
  std::optional<double> exchange_share;   // TrainingTimer::exchange_share, likewise
  double seconds = 0.0;                   // since this process began to train
  std::int64_t skipped_steps = 0;         // steps of the run with gradients that were not finite
  std::optional<std::int64_t> last_step;  // end of training; with a limit of epochs, estimated from the present epoch
  std::optional<double> seconds_left;
};

/// The saved state from which a process continues; that of a new run has step 0.
struct StartReport {
  std::int64_t step = 0;
  bool is_logged = false;           // whether the line of metrics of this step counts
  std::int64_t validated_step = 0;  // the last validation that counts
};

/// Receives the events of a trainer, which itself prints nothing.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;

  /// Called before the first step of this process.
  virtual void on_begin(const StartReport&) {}

  /// Called after each step.
  virtual void on_step(const StepReport&) {}

  /// Called after each line of metrics.
  virtual void on_log(const StepReport&) {}

  virtual void on_validation(std::int64_t /*step*/, const Validation&, bool /*is_best*/) {}

  /// Called before the state is saved. Writes the observer's own file to the disk, so that no saved state is newer than
  /// the file. An Error prevents the save, which is tried again.
  virtual void before_save() {}

  /// Called after a checkpoint was written: "RUN/last", "RUN/best", "RUN/step-00001200".
  virtual void on_save(std::int64_t /*step*/, const std::filesystem::path&) {}

  /// Called for a problem that does not end training: a failed save, a spike of the loss, a damaged checkpoint, losses
  /// of a model that learns nothing. The step is 0 for a problem that is found before the first step.
  virtual void on_warning(std::int64_t /*step*/, const std::string&) {}
};

/// Forwards each event to several observers.
class Observers : public TrainObserver {
 public:
  /// The observers must outlive this object.
  explicit Observers(std::vector<TrainObserver*> observers) : observers_(std::move(observers)) {}

  void on_begin(const StartReport& start) override { forward(&TrainObserver::on_begin, start); }
  void on_step(const StepReport& report) override { forward(&TrainObserver::on_step, report); }
  void on_log(const StepReport& report) override { forward(&TrainObserver::on_log, report); }
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override {
    forward(&TrainObserver::on_validation, step, validation, is_best);
  }
  void before_save() override { forward(&TrainObserver::before_save); }
  void on_save(std::int64_t step, const std::filesystem::path& path) override {
    forward(&TrainObserver::on_save, step, path);
  }
  void on_warning(std::int64_t step, const std::string& warning) override {
    forward(&TrainObserver::on_warning, step, warning);
  }

 private:
  template <class Event, class... Args>
  void forward(Event event, const Args&... args) {
    for (TrainObserver* observer : observers_) (observer->*event)(args...);
  }

  std::vector<TrainObserver*> observers_;
};

}  // namespace edgewise
