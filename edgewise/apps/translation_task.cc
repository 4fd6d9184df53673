// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/translation_task.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "edgewise/apps/search_outputs.h"
#include "edgewise/data/batches.h"
#include "edgewise/ops/loss.h"
#include "edgewise/text/bleu.h"

namespace edgewise {
namespace {

LossOptions loss_options(const Experiment& experiment) {
  return {.smoothing = experiment.train.smoothing, .ignored = kPaddingToken};
}

BatchLoss loss_of(const TranslationModel& model, const Batch& batch, Pass& pass, const LossOptions& options) {
  const ProjectedLoss found = model.transformer.loss(batch, options, pass);
  return {
      .loss_sum = found.loss_sum, .tokens = static_cast<std::int64_t>(batch.labels.size()), .correct = found.correct};
}

void measure_by_token(const TranslationModel& model, const EncodedPairs& pairs, Validation& validation) {
  GraphPool pool;
  double loss = 0;
  std::int64_t tokens = 0;
  std::int64_t correct = 0;
  for (const Batch& batch : batches_in_order(pool, pairs.pairs, model.experiment.batch)) {
    Pass pass = Pass::inference();
    const BatchLoss part = loss_of(model, batch, pass, loss_options(model.experiment));
    loss += part.loss_sum.item<double>();
    tokens += part.tokens;
    correct += part.correct;
  }
  validation.loss = loss / static_cast<double>(tokens);
  validation.accuracy = static_cast<double>(correct) / static_cast<double>(tokens);
}

std::vector<Tokens> inputs_of(const EncodedPairs& pairs) {
  std::vector<Tokens> inputs;
  for (const TokenPair& pair : pairs.pairs) inputs.push_back(pair.input);
  return inputs;
}

bool is_output_of(const TokenPair& pair, const Tokens& found) {
  return std::ranges::equal(found, std::span(pair.output).subspan(1, pair.output.size() - 2));
}

double share_right(const std::vector<Tokens>& found, const EncodedPairs& pairs) {
  std::int64_t right = 0;
  for (std::size_t i = 0; i < found.size(); ++i) right += is_output_of(pairs.pairs[i], found[i]) ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(found.size());
}

double bleu_of(const std::vector<Tokens>& found, const EvaluationPairs& pairs, const Vocabulary& vocabulary) {
  std::vector<std::string> hypotheses;
  std::vector<std::string> references;
  for (std::size_t i = 0; i < found.size(); ++i) {
    hypotheses.push_back(vocabulary.decode(found[i]));
    references.push_back(pairs.sentences.outputs[static_cast<std::size_t>(pairs.encoded.kept[i])]);
  }
  return bleu(hypotheses, references).score;
}

}  // namespace

TranslationTask::TranslationTask(TranslationModel model, EvaluationPairs validation)
    : model_(std::move(model)), validation_(std::move(validation)) {}

BatchLoss TranslationTask::loss(const Batch& batch, Pass& pass) {
  return loss_of(model_, batch, pass, loss_options(model_.experiment));
}

Validation TranslationTask::evaluate(const TranslationModel& model, const EvaluationPairs& pairs) {
  const at::NoGradGuard no_grad;
  Validation validation;
  measure_by_token(model, pairs.encoded, validation);
  const std::vector<Tokens> found =
      search_outputs(model.transformer, inputs_of(pairs.encoded), model.experiment.search);
  if (model.experiment.data.task == DataTask::kText) {
    validation.bleu = bleu_of(found, pairs, *model.vocabularies.output);
  } else {
    validation.sequence_accuracy = share_right(found, pairs.encoded);
  }
  return validation;
}

}  // namespace edgewise
