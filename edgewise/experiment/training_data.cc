// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/training_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/memory.h"
#include "edgewise/base/sha256.h"
#include "edgewise/data/batches.h"
#include "edgewise/data/encoded_documents.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/experiment/language_task.h"
#include "edgewise/experiment/training_doubts.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/models/model_costs.h"

namespace edgewise {
namespace {

constexpr std::int64_t kMostSampled = 10'000;  // pairs or lines that warnings about vocabularies are based on

void warn_of_vocabulary(std::string_view side, const std::vector<std::string>& sentences, const Vocabulary& vocabulary,
                        RunObserver& observer) {
  for (const std::string& doubt : describe_vocabulary_doubts(side, sentences, vocabulary)) {
    observer.on_warning(0, doubt);
  }
}

EncodeOptions training_encode_options(const Experiment& experiment) {
  const VocabularySection& vocabulary = experiment.vocabulary;
  EncodeOptions options = make_encode_options(experiment.data);
  options.input_sampling = {.strength = vocabulary.input_sampling, .best = vocabulary.sampling_best};
  options.output_sampling = {.strength = vocabulary.output_sampling, .best = vocabulary.sampling_best};
  options.augment = experiment.data.augment;
  return options;
}

/// Checks the memory for the edges of validation batches, whose pairs may be longer than those of training.
void require_validation_memory(const TransformerOptions& model, const BatchOptions& options,
                               std::span<const TokenPair> pairs) {
  if (pairs.empty()) return;
  const auto memory = [&model](const BatchTokens& batch) { return edge_memory(model, batch); };
  const BatchTokens batch = std::ranges::max(sizes_in_order(pairs, options), {}, memory);
  require_memory(memory(batch),
                 fmt::format("train: validating a batch of {} input and {} output tokens by additive attention",
                             batch.input, batch.output),
                 "choose a smaller batch.tokens, shorter pairs in data.valid or model.score=dot");
}

class PairData final : public TrainingData {
 public:
  PairData(const Experiment& experiment, Corpus corpus) : experiment_(experiment), corpus_(std::move(corpus)) {}

  Vocabularies make_vocabularies(std::optional<GivenVocabularies> given) const override {
    return edgewise::make_vocabularies(experiment_.vocabulary, corpus_, std::move(given));
  }

  std::shared_ptr<const PairSource> encode(const Vocabularies& vocabularies, bool is_new,
                                           RunObserver& observer) const override {
    auto pairs = std::make_shared<EncodedText>(
        corpus_.train, PairEncoder(vocabularies.input, vocabularies.output, training_encode_options(experiment_)));
    observer.on_data(is_new ? count_pairs(*pairs, observer) : corpus_.num_training_pairs(), corpus_, vocabularies);
    if (!is_new) return pairs;
    const SentencePairs sample = sample_pairs(corpus_.train, kMostSampled);
    warn_of_vocabulary("input", sample.inputs, *vocabularies.input, observer);
    warn_of_vocabulary("output", sample.outputs, *vocabularies.output, observer);
    return pairs;
  }

  BatchOptions batch_options() const override { return experiment_.batch; }

  void encode_validation(const Vocabularies& vocabularies, const TransformerOptions& model, bool is_cpu) override {
    validation_ = encode_evaluation_pairs(experiment_, std::move(corpus_.valid), vocabularies);
    // Test pairs for which the model has too few positions are refused before training, not after.
    if (model.num_learned_positions() > 0) encode_evaluation_pairs(experiment_, corpus_.test, vocabularies);
    if (is_cpu) require_validation_memory(model, experiment_.batch, validation_.encoded.pairs);
  }

  std::string describe_validation() const override {
    return pack_strings(validation_.sentences.inputs) + pack_strings(validation_.sentences.outputs);
  }

  std::unique_ptr<TrainingTask> make_task(TranslationModel model, ProcessGroup& processes) override {
    return std::make_unique<TranslationTask>(std::move(model), std::move(validation_), processes);
  }

  void move_test(TrainResult& result) override { result.test = std::move(corpus_.test); }

 private:
  /// Returns the number of training pairs, after reporting those that are left out.
  static std::int64_t count_pairs(const EncodedText& pairs, RunObserver& observer) {
    const EncodeReport report = pairs.count_pairs();
    observer.on_encode(report);
    return report.kept;
  }

  const Experiment& experiment_;
  Corpus corpus_;
  EvaluationPairs validation_;
};

class TextData final : public TrainingData {
 public:
  TextData(const Experiment& experiment, TextCorpus corpus) : experiment_(experiment), corpus_(std::move(corpus)) {}

  Vocabularies make_vocabularies(std::optional<GivenVocabularies> given) const override {
    return edgewise::make_vocabularies(experiment_.vocabulary, *corpus_.train, std::move(given));
  }

  std::shared_ptr<const PairSource> encode(const Vocabularies& vocabularies, bool is_new,
                                           RunObserver& observer) const override {
    const VocabularySection& options = experiment_.vocabulary;
    auto chunks = std::make_shared<EncodedDocuments>(
        corpus_.train, vocabularies.output, experiment_.batch.length,
        Sampling{.strength = options.output_sampling, .best = options.sampling_best});
    observer.on_text_data(is_new ? std::optional(chunks->count_tokens()) : std::nullopt, corpus_, vocabularies);
    if (is_new && options.kind != VocabularyKind::kBytes) {
      warn_of_vocabulary("text's", sample_lines(*corpus_.train, kMostSampled), *vocabularies.output, observer);
    }
    return chunks;
  }

  /// Limits the chunks in memory to 256 megabytes.
  BatchOptions batch_options() const override {
    constexpr std::int64_t kMostTokens = std::int64_t{1} << 26;
    BatchOptions options = experiment_.batch;
    if (options.window > 0) {
      options.window = std::min(options.window, std::max<std::int64_t>(kMostTokens / options.length, 1));
    }
    return options;
  }

  void encode_validation(const Vocabularies& vocabularies, const TransformerOptions& model, bool /*is_cpu*/) override {
    if (corpus_.valid == nullptr) return;
    const CoverOptions cover = {.length = experiment_.batch.length, .step = experiment_.batch.length};
    validation_ = encode_evaluation_text(model, *corpus_.valid, *vocabularies.output, cover);
  }

  std::string describe_validation() const override {
    return corpus_.valid == nullptr ? "" : fmt::format("{:016x}", corpus_.valid->fingerprint());
  }

  std::unique_ptr<TrainingTask> make_task(TranslationModel model, ProcessGroup& processes) override {
    return std::make_unique<LanguageTask>(std::move(model), std::move(validation_), processes);
  }

  void move_test(TrainResult& result) override { result.test_text = std::move(corpus_.test); }

 private:
  const Experiment& experiment_;
  TextCorpus corpus_;
  EvaluationText validation_;
};

}  // namespace

std::unique_ptr<TrainingData> open_training_data(const Experiment& experiment, const std::filesystem::path& folder,
                                                 RunObserver& observer) {
  if (has_encoder(experiment.model.kind)) {
    Corpus corpus = load_corpus(experiment.data, folder);
    observer.on_corpus(corpus);
    return std::make_unique<PairData>(experiment, std::move(corpus));
  }
  const bool is_bytes = experiment.vocabulary.kind == VocabularyKind::kBytes;
  TextCorpus corpus =
      load_text_corpus(experiment.data, {.is_bytes = is_bytes, .length = experiment.batch.length}, folder);
  observer.on_texts(corpus);
  return std::make_unique<TextData>(experiment, std::move(corpus));
}

}  // namespace edgewise
