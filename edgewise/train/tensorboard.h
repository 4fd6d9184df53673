// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "edgewise/train/event_file.h"
#include "edgewise/train/observer.h"

namespace edgewise {

/// Keeps a run's event files for TensorBoard: the metrics; and of each validation, what the model makes of some inputs,
/// and of each layer the norms of weights and gradients, and how their values are spread. Gradients are those of the
/// step before the validation, a token, before clipping. Run and task must outlive it.
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
  std::int64_t tokens_ = 0;  // of the last step
};

/// The layer of a parameter: "encoder.layers.0" of "encoder.layers.0.feed_forward.inner.weight", "generator" of
/// "generator.bias".
std::string layer_of(const std::string& parameter);

}  // namespace edgewise
