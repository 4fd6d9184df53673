// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/train.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>

#include "edgewise/base/available_memory.h"
#include "edgewise/experiment/attention_log.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/options/model_memory.h"
#include "edgewise/train/tensorboard.h"

namespace edgewise {
namespace {

EncodeOptions training_encode_options(const Experiment& experiment) {
  const VocabularySection& vocabulary = experiment.vocabulary;
  EncodeOptions options = make_encode_options(experiment.data);
  options.input_sampling = {.strength = vocabulary.input_sampling, .best = vocabulary.sampling_best};
  options.output_sampling = {.strength = vocabulary.output_sampling, .best = vocabulary.sampling_best};
  return options;
}

void prepare_directory(const std::filesystem::path& run, bool is_resumed, RunObserver& observer) {
  require_unlocked(run);
  if (!is_resumed) return require_no_run(run);
  const std::string damage = restore_last(run);
  if (!damage.empty()) observer.on_restore(damage);
}

void require_training_memory(const TransformerOptions& model, const TrainOptions& options, const BatchTokens& batch) {
  const std::int64_t parameters = count_parameters(check_options(model));
  require_memory(training_memory(model, options, batch),
                 fmt::format("train: training {} parameters with a batch of {} input and {} output tokens", parameters,
                             batch.input, batch.output),
                 "choose smaller values of model.size, model.feed_forward, the model's layers or batch.tokens");
}

}  // namespace

TrainResult train(const Experiment& experiment, const std::filesystem::path& run, const TrainSettings& settings,
                  RunObserver& observer, RunRequests& requests) {
  check_options(experiment, "train");
  prepare_directory(run, settings.is_resumed, observer);
  Corpus corpus = load_corpus(experiment.data, settings.data_folder);
  observer.on_corpus(corpus);

  const Vocabularies vocabularies = settings.is_resumed
                                        ? open_model(run / "last").vocabularies
                                        : make_vocabularies(experiment.vocabulary, corpus, settings.data_folder);
  const auto pairs = std::make_shared<EncodedText>(
      corpus.train, PairEncoder(vocabularies.input, vocabularies.output, training_encode_options(experiment)));
  std::int64_t num_pairs = corpus.num_training_pairs();
  if (!settings.is_resumed) {
    const EncodeReport report = pairs->count_pairs();
    observer.on_encode(report);
    num_pairs = report.kept;
  }
  observer.on_data(num_pairs, corpus, vocabularies);

  BatchStream batches(pairs, experiment.batch, experiment.train.seed);
  const TransformerOptions model_options = transformer_options(experiment, vocabularies);
  require_training_memory(model_options, experiment.train, batches.largest_batch());
  const auto model = make_model(model_options, experiment.train.seed);
  observer.on_model(*model);
  TranslationTask task({experiment, vocabularies, model},
                       encode_evaluation_pairs(experiment, std::move(corpus.valid), vocabularies));
  TensorBoard tensorboard(run, task, experiment.train.clip_norm);
  AttentionLog attention(run);
  Observers observers({&observer, &tensorboard, &attention});
  Trainer trainer(experiment.train, task, batches, observers, run);
  if (settings.is_resumed) trainer.resume();

  observer.on_start();
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = trainer.run(requests);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {.outcome = outcome, .step = trainer.state().step, .seconds = took.count(), .test = std::move(corpus.test)};
}

}  // namespace edgewise
