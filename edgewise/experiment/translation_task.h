// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/experiment/evaluate.h"

namespace edgewise {

/// Trains a model to translate, or to copy, reverse or sort letters.
///
/// Training waits for each validation. If both ran in parallel, the best model and the step at which patience ends
/// would depend on their speeds.
class TranslationTask : public TrainingTask {
 public:
  /// Throws Error when the config's [show] has a pair that the model cannot encode, or whose attention needs more
  /// memory than there is. The processes share each validation, and must outlive the task.
  TranslationTask(TranslationModel model, EvaluationPairs validation, ProcessGroup& processes = single_process());

  std::string kind() const override { return std::string(enum_name(model_.experiment.model.kind)); }
  std::int64_t size() const override { return model_.experiment.model.size; }
  std::vector<NamedTensor> parameters() override { return model_.model->parameters(); }
  BatchLoss loss(const Batch& batch, Pass& pass) override;
  void clear_constant_gradients() override;
  bool can_validate() const override { return validation_.sentences.size() > 0; }
  Validation validate(const StopRequest& stop) override;
  std::map<std::string, std::string> model_files() override;

 private:
  TranslationModel model_;
  EvaluationPairs validation_;
  ProcessGroup& processes_;
  std::optional<TokenPair> recorded_pair_;  // the pair whose attention each validation records
};

}  // namespace edgewise
