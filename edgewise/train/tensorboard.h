// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

#include "edgewise/train/event_file.h"
#include "edgewise/train/observer.h"

namespace edgewise {

/// Writes the event files of a run for TensorBoard: the metrics and, at each validation, sample outputs and, for each
/// layer, norms and histograms of weights and gradients. The gradients are those of the last step's loss per token,
/// before clipping to `clip_norm`; a step that was skipped, and a process before its first step, have none. The task
/// must outlive the observer.
class TensorBoard : public TrainObserver {
 public:
  TensorBoard(std::filesystem::path run, TrainingTask& task, double clip_norm);

  void on_begin(const StartReport& start) override { file_.emplace(run_, start); }
  void on_step(const StepReport& report) override { gradient_norm_ = report.gradient_norm; }
  void on_log(const StepReport& report) override;
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override;
  void before_save() override;

 private:
  void add_layers(EventSummary& summary);

  std::filesystem::path run_;
  TrainingTask& task_;
  double clip_norm_;
  std::optional<EventFile> file_;
  double gradient_norm_ = std::numeric_limits<double>::infinity();  // norm at the last step; infinite: skipped
};

/// Returns a parameter's layer: "encoder.layers.0" for "encoder.layers.0.norm.bias", "generator" for "generator.bias".
std::string layer_of(const std::string& parameter);

}  // namespace edgewise
