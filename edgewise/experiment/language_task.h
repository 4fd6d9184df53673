// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "edgewise/data/encoded_documents.h"
#include "edgewise/experiment/translation_task.h"

namespace edgewise {

/// A text to measure a language model on.
struct EvaluationText {
  std::vector<CoverChunk> chunks;  // in which each token is counted once
  std::int64_t characters = 0;     // 0 for a vocabulary of bytes
  std::int64_t bytes = 0;

  /// Returns the number of tokens that are counted, with the end tokens of the documents.
  std::int64_t count_tokens() const;
};

/// Encodes a text in chunks (cover_documents). Throws Error for a chunk with more tokens than the model has learned
/// positions, and StopException if `stop` is set before the end.
EvaluationText encode_evaluation_text(const TransformerOptions& model, const DocumentText& text,
                                      const Vocabulary& vocabulary, const CoverOptions& options,
                                      const StopRequest* stop = nullptr);

/// Measures the loss without label smoothing, the accuracy, and the bits per character and per byte. Needs at least one
/// chunk. Throws StopException if `stop` is set. Several processes share the work, and return equal results.
Validation evaluate(const TranslationModel& model, const EvaluationText& text, const StopRequest* stop = nullptr,
                    ProcessGroup& processes = single_process());

/// Trains a language model on texts. A validation covers the whole validation text by chunks of batch.length tokens
/// that do not overlap, so that the tokens have the same context as in training.
class LanguageTask : public ModelTask {
 public:
  /// `validation` has no chunks if there is none. Throws Error when the model cannot encode show.output, or its
  /// attention needs more memory than there is. The processes must outlive the task.
  LanguageTask(TranslationModel model, EvaluationText validation, ProcessGroup& processes = single_process());

  bool can_validate() const override { return !validation_.chunks.empty(); }
  Validation validate(const StopRequest& stop) override;

 private:
  EvaluationText validation_;
  ProcessGroup& processes_;
  std::optional<TokenPair> recorded_text_;  // the text whose attention each validation records
};

}  // namespace edgewise
