// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/experiment/model_directory.h"
#include "edgewise/data/encode.h"
#include "edgewise/train/task.h"

namespace edgewise {

/// Pairs to measure a model on: as they were written, and as tokens.
struct EvaluationPairs {
  SentencePairs sentences;
  EncodedPairs encoded;
};

/// The best that the experiment's search finds for each sentence with scorers of one's own, in so many searches side by
/// side.
std::vector<Translation> best_translations(const TranslationModel& model, const Translator::MakeScorer& make_scorer,
                                           int workers, const std::vector<std::string>& inputs);

/// The best by the runtime, as `edgewise translate` would find it.
std::vector<TranslatedText> translate(const TranslationModel& model, const std::vector<std::string>& inputs);

/// A model that learns to translate, or to copy, reverse and sort letters.
class TranslationTask : public TrainingTask {
 public:
  /// Throws Error for a pair to be shown that the model cannot read.
  TranslationTask(TranslationModel model, EvaluationPairs validation);

  std::string kind() const override { return std::string(enum_name(model_.experiment.model.kind)); }
  std::int64_t size() const override { return model_.experiment.model.size; }
  std::vector<NamedTensor> parameters() override { return model_.model->parameters(); }
  BatchLoss loss(const Batch& batch, Pass& pass) override;
  bool can_validate() const override { return validation_.sentences.size() > 0; }
  Validation validate() override;
  std::map<std::string, std::string> model_files() override {
    return edgewise::model_files(model_.experiment, model_.vocabularies);
  }

  /// Loss and accuracy by token; and by translating as `edgewise translate` would with this model and the experiment's
  /// search: BLEU of text, lower-cased where outputs are, the share of sequences that are right of letters. Needs at
  /// least one pair.
  ///
  /// Training waits for it: with a search beside the steps, which model is the best, and when patience ends, would hang
  /// on who is faster.
  static Validation evaluate(const TranslationModel& model, const EvaluationPairs& pairs);

 private:
  TranslationModel model_;
  EvaluationPairs validation_;
  std::optional<TokenPair> shown_;  // whose attention is told
  GraphPool pool_;                  // of batches whose sentences are there twice
};

}  // namespace edgewise
