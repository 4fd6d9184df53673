// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "edgewise/train/event_file.h"
#include "edgewise/train/observer.h"

namespace edgewise {

/// Writes the event files of a run for TensorBoard: the metrics and, at each validation, sample outputs and, for each
/// layer, norms and histograms of weights and gradients. The gradients are from the last step, per token, before
/// clipping. The task must outlive the observer.
class TensorBoard : public TrainObserver {
 public:
  TensorBoard(std::filesystem::path run, TrainingTask& task);

  void on_begin(std::int64_t step) override;
  void on_step(const StepReport& report) override { tokens_ = report.tokens; }
  void on_log(const StepReport& report) override;
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override;

 private:
  void add_layers(EventSummary& summary);

  std::filesystem::path run_;
  TrainingTask& task_;
  std::optional<EventFile> file_;
  std::int64_t tokens_ = 0;  // tokens of the last step
};

/// Returns a parameter's layer: "encoder.layers.0" for "encoder.layers.0.norm.bias", "generator" for "generator.bias".
std::string layer_of(const std::string& parameter);

}  // namespace edgewise
