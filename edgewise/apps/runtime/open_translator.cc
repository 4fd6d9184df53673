// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/open_translator.h"

#include <utility>

#include "edgewise/apps/runtime/enum_option.h"
#include "edgewise/apps/runtime/threads_option.h"
#include "edgewise/base/error.h"
#include "edgewise/search/ensemble_scorer.h"

namespace edgewise {
namespace {

void check_vocabulary(const Vocabulary& vocabulary, const Vocabulary& first, const std::string& path,
                      const std::string& first_path, std::string_view caller) {
  const bool is_same =
      vocabulary.serialize() == first.serialize() && vocabulary.serialize_case() == first.serialize_case();
  check(is_same, "{}: {} has another vocabulary than {}, needs the same", caller, path, first_path);
}

Translator::MakeScorer ensemble_of(std::vector<Translator::MakeScorer> makers) {
  if (makers.size() == 1) return std::move(makers.front());
  return [makers = std::move(makers)]() -> std::unique_ptr<Scorer> {
    std::vector<std::unique_ptr<Scorer>> members;
    for (const Translator::MakeScorer& make : makers) members.push_back(make());
    return std::make_unique<EnsembleScorer>(std::move(members));
  };
}

}  // namespace

void add_translator_options(CLI::App& command, TranslatorSettings& settings) {
  TranslatorOptions& options = settings.options;
  command
      .add_option("--model", settings.models, "a run or model directory; --model again, of one vocabulary: an ensemble")
      ->allow_extra_args(false)
      ->required();
  command
      .add_option("--precision", settings.scorers.precision,
                  "numbers to compute products in: fp32 (default), bf16 or int8")
      ->transform(one_of<RuntimePrecision>());
  command.add_option("--batch-sentences", options.capacity.sentences, "sentences of a worker translated at once")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--batch-tokens", options.capacity.tokens, "tokens of these sentences' inputs; 0: any number")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--workers", options.workers, "searches side by side, which share the threads")
      ->check(CLI::Range(1, 4096));
  command.add_option("--attention-layer", settings.scorers.attention.layer,
                     "of the decoder, whose attention to the input alignments are made of; -1 (default): the last");
  command.add_option("--attention-head", settings.scorers.attention.head, "of that layer; -1 (default): all, averaged");
  add_threads_option(command, settings.threads);
}

std::vector<ModelFiles> read_models(const TranslatorSettings& settings, std::string_view caller) {
  std::vector<ModelFiles> models;
  for (std::size_t i = 0; i < settings.models.size(); ++i) {
    models.push_back(read_model_files(settings.models[i], caller));
    if (i == 0) continue;
    const Vocabularies& first = models.front().vocabularies;
    const Vocabularies& other = models.back().vocabularies;
    check_vocabulary(*other.input, *first.input, settings.models[i], settings.models[0], caller);
    check_vocabulary(*other.output, *first.output, settings.models[i], settings.models[0], caller);
  }
  return models;
}

std::unique_ptr<Translator> open_translator(std::vector<ModelFiles> models, const TranslatorSettings& settings,
                                            const OpenScorers& open_scorers, std::string_view caller) {
  check(!models.empty(), "{}: models is empty, needs at least one", caller);
  use_threads(settings.threads);
  Coding coding = coding_of(models.front());
  if (settings.max_input) coding.max_input = *settings.max_input;
  coding.long_inputs = settings.long_inputs;
  std::vector<Translator::MakeScorer> makers;
  makers.reserve(models.size());
  for (ModelFiles& model : models) makers.push_back(open_scorers(std::move(model), settings.scorers));
  return std::make_unique<Translator>(std::move(coding), ensemble_of(std::move(makers)), settings.options);
}

}  // namespace edgewise
