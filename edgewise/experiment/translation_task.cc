// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/translation_task.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/data/batches.h"
#include "edgewise/translate/translator.h"
#include "edgewise/ops/loss.h"
#include "edgewise/text/bleu.h"

namespace edgewise {
namespace {

constexpr std::size_t kSamples = 4;  // that people are shown

LossOptions loss_options(const Experiment& experiment) {
  return {.smoothing = experiment.train.smoothing, .ignored = kPaddingToken};
}

BatchLoss loss_of(const TranslationModel& model, const Batch& batch, double rdrop, Pass& pass) {
  const ModelLoss found = model.model->loss(batch, loss_options(model.experiment), rdrop, pass);
  return {.loss_sum = found.sum,
          .reported_sum = found.reported_sum,
          .tokens = static_cast<std::int64_t>(batch.labels.size()),
          .correct = found.correct,
          .encoder = found.encoder,
          .decoder = found.decoder};
}

void measure_by_token(const TranslationModel& model, const EncodedPairs& pairs, Validation& validation) {
  GraphPool pool;
  double loss = 0;
  std::int64_t tokens = 0;
  std::int64_t correct = 0;
  for (const Batch& batch : batches_in_order(pool, pairs.pairs, model.experiment.batch)) {
    Pass pass = Pass::inference();
    const BatchLoss part = loss_of(model, batch, /*rdrop=*/0, pass);
    loss += part.reported_sum.item<double>();
    tokens += part.tokens;
    correct += part.correct;
    for (const auto& [steps, nodes] : part.encoder) validation.encoder_steps[steps] += nodes;
    for (const auto& [steps, nodes] : part.decoder) validation.decoder_steps[steps] += nodes;
  }
  validation.loss = loss / static_cast<double>(tokens);
  validation.accuracy = static_cast<double>(correct) / static_cast<double>(tokens);
}

double share_right(const std::vector<std::string>& outputs, const std::vector<std::string>& references) {
  std::int64_t right = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) right += outputs[i] == references[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(outputs.size());
}

std::vector<OutputSample> some_samples(const SentencePairs& pairs, const std::vector<std::string>& outputs) {
  std::vector<OutputSample> samples;
  for (std::size_t i = 0; i < std::min(outputs.size(), kSamples); ++i) {
    samples.push_back({.input = pairs.inputs[i], .output = outputs[i], .reference = pairs.outputs[i]});
  }
  return samples;
}

std::optional<TokenPair> pair_to_show(const TranslationModel& model) {
  const ShowOptions& show = model.experiment.show;
  if (show.input.empty()) return std::nullopt;
  check(!show.output.empty(), "train: show.output is empty, needs what show.input becomes");
  return encode_pair(model, show.input, show.output, "train");
}

/// On one line.
std::string attention_json(const TranslationModel& model, const TokenPair& pair) {
  std::string list;
  for (const AttentionMaps& maps : attention_maps(model, pair)) list += (list.empty() ? "" : ", ") + json_of(maps);
  std::erase(list, '\n');  // between rows; in texts there is none
  return "[" + list + "]";
}

}  // namespace

std::vector<Translation> best_translations(const TranslationModel& model, const Translator::MakeScorer& make_scorer,
                                           int workers, const std::vector<std::string>& inputs) {
  TranslatorOptions options;
  options.search = model.experiment.search;
  options.search.n_best = 1;
  options.workers = workers;
  Translator translator(coding_of(model.experiment, model.vocabularies), make_scorer, options);
  std::vector<TranslationRequest> requests;
  requests.reserve(inputs.size());
  for (const std::string& input : inputs) requests.push_back({input});
  return translator.translate(requests);
}

// With a search a thread: a step of one is too short to be shared.
std::vector<TranslatedText> translate(const TranslationModel& model, const std::vector<std::string>& inputs) {
  std::vector<TranslatedText> outputs;
  for (Translation& translation : best_translations(model, scorers_of(*model.model), num_threads(), inputs)) {
    outputs.push_back(std::move(translation.outputs.front()));
  }
  return outputs;
}

TranslationTask::TranslationTask(TranslationModel model, EvaluationPairs validation)
    : model_(std::move(model)), validation_(std::move(validation)), shown_(pair_to_show(model_)) {}

Validation TranslationTask::validate() {
  Validation validation = evaluate(model_, validation_);
  if (shown_) validation.attention = attention_json(model_, *shown_);
  return validation;
}

BatchLoss TranslationTask::loss(const Batch& batch, Pass& pass) {
  const double rdrop = model_.experiment.train.rdrop;
  return loss_of(model_, rdrop > 0 ? twice(pool_, batch) : batch, rdrop, pass);
}

Validation TranslationTask::evaluate(const TranslationModel& model, const EvaluationPairs& pairs) {
  const at::NoGradGuard no_grad;
  Validation validation;
  measure_by_token(model, pairs.encoded, validation);
  std::vector<std::string> outputs;
  for (TranslatedText& output : translate(model, pairs.sentences.inputs)) outputs.push_back(std::move(output.text));
  if (model.experiment.data.task == DataTask::kText) {
    const bool is_lower = model.experiment.vocabulary.output_case == CaseKind::kLower;
    validation.bleu = bleu(outputs, pairs.sentences.outputs, {.lower_case = is_lower}).score;
  } else {
    validation.sequence_accuracy = share_right(outputs, pairs.sentences.outputs);
  }
  validation.samples = some_samples(pairs.sentences, outputs);
  return validation;
}

}  // namespace edgewise
