// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/evaluate.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/data/batches.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/ops/loss.h"
#include "edgewise/options/position_formula.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/text/bleu.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxSamples = 4;  // translations that a validation keeps for TensorBoard

/// Packs the present parameters of a model for translating by the runtime. Later changes of the parameters do not
/// affect the scorers.
ScorerFactory make_scorers(const SequenceModel& model, const StopRequest* stop) {
  constexpr const char* kName = "the model";
  const auto runtime = std::make_shared<const RuntimeModel>(
      model.options(), SafetensorsFile::parse(serialize_tensors(model.parameters(), {}, stop), kName), kName,
      RuntimePrecision::kFp32, stop);
  return [runtime] { return runtime->make_scorer(); };
}

void measure_by_token(const TranslationModel& model, const EncodedPairs& pairs, const StopRequest* stop,
                      Validation& validation) {
  LossSums sums;
  for (const Batch& batch : batches_in_order(pairs.pairs, model.experiment.batch, stop)) {
    throw_if_set(stop);
    Pass pass = Pass::inference();
    const BatchLoss part = batch_loss(model, batch, /*rdrop=*/0, pass);
    sums += part.sums;
    for (const auto& [steps, nodes] : part.encoder_histogram) validation.encoder_steps[steps] += nodes;
    for (const auto& [steps, nodes] : part.decoder_histogram) validation.decoder_steps[steps] += nodes;
  }
  validation.loss = sums.loss / static_cast<double>(sums.tokens);
  validation.accuracy = static_cast<double>(sums.correct) / static_cast<double>(sums.tokens);
}

double sequence_accuracy(const std::vector<std::string>& outputs, const std::vector<std::string>& references) {
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) correct += outputs[i] == references[i] ? 1 : 0;
  return static_cast<double>(correct) / static_cast<double>(outputs.size());
}

std::vector<std::string> translate_best(const TranslationModel& model, const std::vector<std::string>& inputs,
                                        const StopRequest* stop) {
  std::vector<std::string> outputs;
  for (TranslatedText& output : translate(model, inputs, stop)) outputs.push_back(std::move(output.text));
  return outputs;
}

std::vector<OutputSample> first_samples(const SentencePairs& pairs, const std::vector<std::string>& outputs) {
  std::vector<OutputSample> samples;
  for (std::size_t i = 0; i < std::min(outputs.size(), kMaxSamples); ++i) {
    samples.push_back({.input = pairs.inputs[i], .output = outputs[i], .reference = pairs.outputs[i]});
  }
  return samples;
}

/// Throws Error for a pair for which the model has too few learned positions. The output's last token has no position.
void check_positions(const TransformerOptions& model, std::span<const TokenPair> pairs) {
  if (model.num_learned_positions() == 0) return;
  for (const TokenPair& pair : pairs) {
    const std::int64_t positions = std::max(std::ssize(pair.input), std::ssize(pair.output) - 1);
    check_learned_position(positions - 1, model.num_learned_positions(), "evaluate");
  }
}

}  // namespace

EvaluationPairs encode_evaluation_pairs(const Experiment& experiment, SentencePairs sentences,
                                        const Vocabularies& vocabularies, const StopRequest* stop) {
  EvaluationPairs pairs{std::move(sentences), {}};
  if (pairs.sentences.size() == 0) return pairs;
  const EncodeOptions data = make_encode_options(experiment.data);
  const EncodeOptions options{.end_input = data.end_input, .languages = data.languages};
  pairs.encoded = encode_pairs(pairs.sentences, PairEncoder(vocabularies.input, vocabularies.output, options), stop);
  check_positions(experiment.model, pairs.encoded.pairs);
  return pairs;
}

BatchLoss batch_loss(const TranslationModel& model, const Batch& batch, double rdrop, Pass& pass) {
  // The tokens of a benchmark are numbers without a vocabulary.
  const auto& vocabulary = model.vocabularies.output;
  const SpecialTokens special = vocabulary == nullptr ? SpecialTokens() : vocabulary->special();
  const LossOptions options = {.smoothing = model.experiment.train.smoothing, .ignored = special.padding};
  return model.model->loss(batch, options, rdrop, pass);
}

std::vector<TranslatedText> translate(const TranslationModel& model, const std::vector<std::string>& inputs,
                                      const StopRequest* stop) {
  TranslatorOptions options;
  options.search = model.experiment.search;
  options.n_best = 1;
  options.workers = num_threads();  // one search per thread: the steps of one search are too short to share
  options.stop = stop;
  Translator translator(text_codec(model.experiment, model.vocabularies), make_scorers(*model.model, stop), options);
  std::vector<TranslationRequest> requests;
  requests.reserve(inputs.size());
  for (const std::string& input : inputs) requests.push_back({input});
  std::vector<TranslatedText> outputs;
  for (Translation& translation : translator.translate(requests)) {
    outputs.push_back(std::move(translation.outputs.front()));
  }
  return outputs;
}

Validation evaluate(const TranslationModel& model, const EvaluationPairs& pairs, const StopRequest* stop) {
  const at::NoGradGuard no_grad;
  Validation validation;
  measure_by_token(model, pairs.encoded, stop, validation);
  // A model whose loss is not finite computes no probabilities to search with: its outputs count as empty.
  std::vector<std::string> outputs(pairs.sentences.inputs.size());
  if (std::isfinite(validation.loss)) outputs = translate_best(model, pairs.sentences.inputs, stop);
  if (model.experiment.data.task == DataTask::kText) {
    const bool is_lower = model.experiment.vocabulary.output_case == CaseKind::kLower;
    validation.bleu = bleu(outputs, pairs.sentences.outputs, {.lower_case = is_lower}, stop).score;
  } else {
    validation.sequence_accuracy = sequence_accuracy(outputs, pairs.sentences.outputs);
  }
  validation.samples = first_samples(pairs.sentences, outputs);
  return validation;
}

Validation evaluate(const TranslationModel& model, SentencePairs sentences, const StopRequest* stop) {
  check(sentences.size() > 0, "evaluate: sentences has no pairs, needs at least one");
  return evaluate(model, encode_evaluation_pairs(model.experiment, std::move(sentences), model.vocabularies, stop),
                  stop);
}

}  // namespace edgewise
