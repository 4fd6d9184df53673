// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/evaluate.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/data/batches.h"
#include "edgewise/experiment/shared_work.h"
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

/// Returns the sums of a batch as the bytes of numbers: loss, tokens, correct tokens, the size of the encoder's
/// histogram, and the numbers of both histograms.
std::string pack(const BatchLoss& batch) {
  const LossSums sums = batch.sums();
  std::vector<std::int64_t> numbers = {std::bit_cast<std::int64_t>(sums.loss), sums.tokens, sums.correct,
                                       std::ssize(batch.encoder_histogram)};
  for (const PonderHistogram* histogram : {&batch.encoder_histogram, &batch.decoder_histogram}) {
    for (const auto& [steps, nodes] : *histogram) numbers.insert(numbers.end(), {steps, nodes});
  }
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(numbers[0])};
}

/// Adds the sums of a packed batch to `sums`, and its histograms to the validation.
void add_packed(const std::string& bytes, LossSums& sums, Validation& validation) {
  std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  sums.loss += std::bit_cast<double>(numbers[0]);
  sums.tokens += numbers[1];
  sums.correct += numbers[2];
  const std::size_t decoder_begin = 4 + 2 * static_cast<std::size_t>(numbers[3]);
  for (std::size_t i = 4; i < numbers.size(); i += 2) {
    PonderHistogram& histogram = i < decoder_begin ? validation.encoder_steps : validation.decoder_steps;
    histogram[numbers[i]] += numbers[i + 1];
  }
}

void measure_by_token(const TranslationModel& model, const EncodedPairs& pairs, const StopRequest* stop,
                      ProcessGroup& processes, Validation& validation) {
  const BatchOptions& options = model.experiment.batch;
  const auto measure = [&](const std::vector<std::size_t>& numbers) {
    const std::vector<Batch> batches = batches_in_order(pairs.pairs, options, stop);
    std::vector<std::string> measured;
    for (const std::size_t number : numbers) {
      throw_if_set(stop);
      Pass pass = Pass::inference();
      measured.push_back(pack(batch_loss(model, batches[number], /*rdrop=*/0, pass)));
    }
    return measured;
  };
  LossSums sums;
  const std::size_t num_batches = sizes_in_order(pairs.pairs, options).size();
  for (const std::string& batch : share_work(processes, num_batches, measure)) add_packed(batch, sums, validation);
  validation.loss = sums.loss / static_cast<double>(sums.tokens);
  validation.accuracy = static_cast<double>(sums.correct) / static_cast<double>(sums.tokens);
}

double sequence_accuracy(const std::vector<std::string>& outputs, const std::vector<std::string>& references) {
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) correct += outputs[i] == references[i] ? 1 : 0;
  return static_cast<double>(correct) / static_cast<double>(outputs.size());
}

std::vector<std::string> translate_best(const TranslationModel& model, const std::vector<std::string>& inputs,
                                        const StopRequest* stop, ProcessGroup& processes) {
  return share_work(processes, inputs.size(), [&](const std::vector<std::size_t>& numbers) {
    std::vector<std::string> own;
    own.reserve(numbers.size());
    for (const std::size_t number : numbers) own.push_back(inputs[number]);
    std::vector<std::string> outputs;
    for (TranslatedText& output : translate(model, own, stop)) outputs.push_back(std::move(output.text));
    return outputs;
  });
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
  options.protect = false;          // scores are those of the model alone
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

Validation evaluate(const TranslationModel& model, const EvaluationPairs& pairs, const StopRequest* stop,
                    ProcessGroup& processes) {
  const at::NoGradGuard no_grad;
  Validation validation;
  measure_by_token(model, pairs.encoded, stop, processes, validation);
  // A model whose loss is not finite computes no probabilities to search with: its outputs count as empty.
  std::vector<std::string> outputs(pairs.sentences.inputs.size());
  if (std::isfinite(validation.loss)) outputs = translate_best(model, pairs.sentences.inputs, stop, processes);
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
