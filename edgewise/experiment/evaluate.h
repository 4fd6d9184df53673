// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "edgewise/base/stop_request.h"
#include "edgewise/data/encode.h"
#include "edgewise/distributed/process_group.h"
#include "edgewise/experiment/translation_model.h"
#include "edgewise/train/task.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// Sentence pairs to measure a model on, as text and as tokens.
struct EvaluationPairs {
  SentencePairs sentences;
  EncodedPairs encoded;
};

/// Encodes the sentence pairs of a validation or test set without a limit of length. An empty set stays empty. Throws
/// Error for a pair with more tokens than the model has learned positions, and StopException if `stop` is set before
/// the end.
EvaluationPairs encode_evaluation_pairs(const Experiment& experiment, SentencePairs sentences,
                                        const Vocabularies& vocabularies, const StopRequest* stop = nullptr);

/// Measures loss, accuracy and ponder steps of the model over `num_batches` batches, which `make` makes by number, and
/// sets them in `validation`. Several processes share the batches, and set equal results. Throws StopException if
/// `stop` is set.
void measure_by_token(const TranslationModel& model, std::size_t num_batches,
                      const std::function<Batch(std::size_t number)>& make, const LossOptions& options,
                      const StopRequest* stop, ProcessGroup& processes, Validation& validation);

/// Measures loss and accuracy per token, and translates the inputs with the config's [search]. Text is scored by BLEU
/// (in lower case if the model's outputs are), a letter task by the share of sequences that equal their reference.
/// With a loss that is not finite, the outputs count as empty. Needs at least one pair. Throws StopException if `stop`
/// is set, which is read between sentences, batches and search steps. Several processes share the work, and return
/// equal results; if `stop` is set in one of them, all throw StopException.
Validation evaluate(const TranslationModel& model, const EvaluationPairs& pairs, const StopRequest* stop = nullptr,
                    ProcessGroup& processes = single_process());
Validation evaluate(const TranslationModel& model, SentencePairs sentences, const StopRequest* stop = nullptr);

/// Translates sentences by the runtime, as `edgewise translate` does: one search per thread, in int8 with
/// train.quantise=int8, else in fp32. Returns the best output of each sentence. Throws StopException if `stop` is set.
std::vector<TranslatedText> translate(const TranslationModel& model, const std::vector<std::string>& inputs,
                                      const StopRequest* stop = nullptr);

}  // namespace edgewise
