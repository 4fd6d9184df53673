// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/data/batches.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/positions/position_formula.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/text/metrics/bleu.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxSamples = 4;  // translations that a validation keeps for TensorBoard

/// Packs the present parameters of a model for translating by the runtime. Later changes of the parameters do not
/// affect the scorers.
ScorerFactory make_scorers(const TranslationModel& model, const StopRequest* stop) {
  const ListedTensors parameters = list_tensors(model.model->parameters());
  const bool is_int8 = model.experiment.train.quantise == ProductRounding::kInt8;
  const auto runtime =
      std::make_shared<const RuntimeModel>(model.model->options(), SafetensorsFile::list(parameters.infos), "the model",
                                           is_int8 ? RuntimePrecision::kInt8 : RuntimePrecision::kFp32, stop);
  return [runtime, heads = model.experiment.search.recorded_heads] { return runtime->make_scorer(heads); };
}

/// The numbers of a batch, as a row of fp64: loss, tokens, correct tokens, then the nodes for each number of ponder
/// steps up to the number of layers, encoder first, then loss and correct tokens of each exit. fp64 has each count
/// exactly.
class BatchRow {
 public:
  explicit BatchRow(const TransformerOptions& model)
      : exit_layers_(model.exits.layers),
        decoder_begin_(kHistogramBegin + 1 + model.encoder_layers),
        exits_begin_(decoder_begin_ + 1 + model.decoder_layers),
        size_(exits_begin_ + 2 * std::ssize(exit_layers_)) {}

  std::int64_t size() const { return size_; }

  void write(const BatchLoss& batch, double* row) const {
    const LossSums sums = batch.sums();
    row[0] = sums.loss;
    row[1] = static_cast<double>(sums.tokens);
    row[2] = static_cast<double>(sums.correct);
    for (const auto& [steps, nodes] : batch.encoder_histogram)
      row[kHistogramBegin + steps] = static_cast<double>(nodes);
    for (const auto& [steps, nodes] : batch.decoder_histogram) row[decoder_begin_ + steps] = static_cast<double>(nodes);
    double* exit_numbers = row + exits_begin_;
    for (const BatchLoss& exit : batch.exits) {
      const LossSums at_exit = exit.sums();
      *exit_numbers++ = at_exit.loss;
      *exit_numbers++ = static_cast<double>(at_exit.correct);
    }
  }

  /// Sets the means and the histograms of a validation from the sum of all rows.
  void read(const double* sum, Validation& validation) const {
    validation.loss = sum[0] / sum[1];
    validation.accuracy = sum[2] / sum[1];
    const double* exit_numbers = sum + exits_begin_;
    for (const std::int64_t layer : exit_layers_) {
      validation.exit_loss[layer] = *exit_numbers++ / sum[1];
      validation.exit_accuracy[layer] = *exit_numbers++ / sum[1];
    }
    for (std::int64_t i = kHistogramBegin; i < exits_begin_; ++i) {
      if (sum[i] == 0) continue;
      const bool is_decoder = i >= decoder_begin_;
      PonderHistogram& histogram = is_decoder ? validation.decoder_steps : validation.encoder_steps;
      histogram[i - (is_decoder ? decoder_begin_ : kHistogramBegin)] = static_cast<std::int64_t>(sum[i]);
    }
  }

 private:
  static constexpr std::int64_t kHistogramBegin = 3;
  std::vector<std::int64_t> exit_layers_;
  std::int64_t decoder_begin_;
  std::int64_t exits_begin_;
  std::int64_t size_;
};

double sequence_accuracy(const std::vector<std::string>& outputs, const std::vector<std::string>& references) {
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) correct += outputs[i] == references[i] ? 1 : 0;
  return static_cast<double>(correct) / static_cast<double>(outputs.size());
}

std::vector<std::string> translate_best(const TranslationModel& model, const std::vector<std::string>& inputs,
                                        const StopRequest* stop, ProcessGroup& processes) {
  return share_texts(processes, inputs.size(), [&](const std::vector<std::size_t>& numbers) {
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

std::vector<TranslatedText> translate(const TranslationModel& model, const std::vector<std::string>& inputs,
                                      const StopRequest* stop) {
  TranslatorOptions options;
  options.search = model.experiment.search;
  options.n_best = 1;
  options.workers = num_threads();  // one search per thread: the steps of one search are too short to share
  options.protect = false;          // scores are those of the model alone
  options.stop = stop;
  Translator translator(text_codec(model.experiment, model.vocabularies), make_scorers(model, stop), options);
  std::vector<TranslationRequest> requests;
  requests.reserve(inputs.size());
  for (const std::string& input : inputs) requests.push_back({input});
  std::vector<TranslatedText> outputs;
  for (Translation& translation : translator.translate(requests)) {
    outputs.push_back(std::move(translation.outputs.front()));
  }
  return outputs;
}

void measure_by_token(const TranslationModel& model, std::size_t num_batches,
                      const std::function<Batch(std::size_t number)>& make, const LossOptions& options,
                      const StopRequest* stop, ProcessGroup& processes, Validation& validation) {
  const at::NoGradGuard no_grad;
  const BatchRow row(model.model->options());
  const auto measure = [&](const std::vector<std::size_t>& numbers) {
    at::Tensor rows = at::zeros({std::ssize(numbers), row.size()}, at::kDouble);
    auto* out = rows.mutable_data_ptr<double>();
    for (const std::size_t number : numbers) {
      throw_if_set(stop);
      Pass pass = Pass::inference();
      row.write(model.loss(make(number), options, /*added=*/{}, pass), out);
      out += row.size();
    }
    return rows;
  };
  const at::Tensor rows = share_rows(processes, num_batches, measure);
  // Batch by batch, so that the sum has the same bits with any number of processes.
  std::vector<double> sum(static_cast<std::size_t>(row.size()));
  const double* value = rows.const_data_ptr<double>();
  for (std::int64_t batch = 0; batch < rows.size(0); ++batch) {
    for (double& total : sum) total += *value++;
  }
  row.read(sum.data(), validation);
}

Validation evaluate(const TranslationModel& model, const EvaluationPairs& pairs, const StopRequest* stop,
                    ProcessGroup& processes) {
  Validation validation;
  std::vector<Batch> batches;
  stop_together(processes, [&] { batches = batches_in_order(pairs.encoded.pairs, model.experiment.batch, stop); });
  measure_by_token(
      model, batches.size(), [&batches](std::size_t number) { return batches[number]; }, model.loss_options(), stop,
      processes, validation);
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
