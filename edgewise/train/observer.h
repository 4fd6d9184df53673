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

/// How training goes.
struct StepReport {
  std::int64_t step = 0;
  std::int64_t epoch = 0;  // from 1
  double loss = 0.0;       // per token
  double accuracy = 0.0;   // share of tokens
  double learning_rate = 0.0;
  double gradient_norm = 0.0;  // before clipping
  std::int64_t tokens = 0;     // of a step; of a line of metrics, of the steps since the line before
  double tokens_per_second = 0.0;
  std::optional<double> encoder_steps;  // of thinking, a node's mean, where nodes decide that for themselves
  std::optional<double> decoder_steps;
  double seconds = 0.0;                   // since this process began to train
  std::int64_t skipped_steps = 0;         // since the run began, for gradients that were not finite
  std::optional<std::int64_t> last_step;  // where training ends; by the present epoch's batches if epochs end it
  std::optional<double> seconds_left;
};

/// Whoever wants to know what the trainer does; the trainer itself prints nothing.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;

  /// Before the first step of this process; so many are done.
  virtual void on_begin(std::int64_t /*step*/) {}

  /// After each step, with the numbers of that step.
  virtual void on_step(const StepReport&) {}

  /// After each line of metrics: loss and accuracy over the steps since the line before.
  virtual void on_log(const StepReport&) {}

  virtual void on_validation(std::int64_t /*step*/, const Validation&, bool /*is_best*/) {}

  /// A model directory was written: "RUN/last", "RUN/best", "RUN/step-00001200".
  virtual void on_save(std::int64_t /*step*/, const std::filesystem::path&) {}

  /// Something to know of, though training goes on: a save that failed, a loss that leaps, a damaged checkpoint.
  virtual void on_warning(std::int64_t /*step*/, const std::string&) {}
};

/// Tells several.
class Observers : public TrainObserver {
 public:
  /// They must outlive it.
  explicit Observers(std::vector<TrainObserver*> observers) : observers_(std::move(observers)) {}

  void on_begin(std::int64_t step) override {
    for (TrainObserver* observer : observers_) observer->on_begin(step);
  }
  void on_step(const StepReport& report) override {
    for (TrainObserver* observer : observers_) observer->on_step(report);
  }
  void on_log(const StepReport& report) override {
    for (TrainObserver* observer : observers_) observer->on_log(report);
  }
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override {
    for (TrainObserver* observer : observers_) observer->on_validation(step, validation, is_best);
  }
  void on_save(std::int64_t step, const std::filesystem::path& path) override {
    for (TrainObserver* observer : observers_) observer->on_save(step, path);
  }
  void on_warning(std::int64_t step, const std::string& warning) override {
    for (TrainObserver* observer : observers_) observer->on_warning(step, warning);
  }

 private:
  std::vector<TrainObserver*> observers_;
};

}  // namespace edgewise
