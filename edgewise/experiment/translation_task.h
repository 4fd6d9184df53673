// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/experiment/evaluate.h"

namespace edgewise {

/// The part of a task that is the same for all data: a model with its config and vocabularies.
class ModelTask : public TrainingTask {
 public:
  explicit ModelTask(TranslationModel model) : model_(std::move(model)) {}

  std::string kind() const override { return std::string(enum_name(model_.experiment.model.kind)); }
  std::int64_t size() const override { return model_.experiment.model.size; }
  std::vector<NamedTensor> parameters() override { return model_.model->parameters(); }
  BatchLoss loss(const Batch& batch, Pass& pass) override;
  void clear_constant_gradients() override;
  std::map<std::string, std::string> model_files() override;

 protected:
  /// Returns all attention maps of a pair or, without an input, a text as a JSON array on one line.
  std::string attention_json(const TokenPair& pair, const StopRequest& stop) const;

  const TranslationModel& model() const { return model_; }

 private:
  TranslationModel model_;
};

/// Trains a model to translate, to copy, reverse or sort letters, or to add numbers.
///
/// Training waits for each validation. If both ran in parallel, the best model and the step at which patience ends
/// would depend on their speeds.
class TranslationTask : public ModelTask {
 public:
  /// Throws Error when the config's [show] has a pair that the model cannot encode, or whose attention needs more
  /// memory than there is. The processes share each validation, and must outlive the task.
  TranslationTask(TranslationModel model, EvaluationPairs validation, ProcessGroup& processes = single_process());

  bool can_validate() const override { return validation_.sentences.size() > 0; }
  Validation validate(const StopRequest& stop) override;

 private:
  EvaluationPairs validation_;
  ProcessGroup& processes_;
  std::optional<TokenPair> recorded_pair_;  // the pair whose attention each validation records
};

}  // namespace edgewise
