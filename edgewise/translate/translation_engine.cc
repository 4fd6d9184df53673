// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translation_engine.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/device/choose_gpu.h"
#include "edgewise/search/ensemble_scorer.h"

namespace edgewise {
namespace {

/// Returns the smaller of two limits; 0 is no limit.
std::int64_t smaller_limit(std::int64_t a, std::int64_t b) { return a == 0 || b == 0 ? a + b : std::min(a, b); }

/// Returns the codec of the first model, with positions for all models.
TextCodec make_codec(const std::vector<ModelFiles>& models) {
  check(!models.empty(), "Translator: models is empty, needs at least one");
  TextCodec codec = models.front().codec;
  for (const ModelFiles& model : models) {
    codec.max_positions = smaller_limit(codec.max_positions, model.codec.max_positions);
  }
  return codec;
}

/// Returns whether models use their shortlists. The output that scoring gets may have tokens that no shortlist selects.
bool uses_shortlists(const TranslatorOptions& options, const SearchOptions& search) {
  return options.shortlist == ShortlistUse::kAuto && options.search.value_or(search).kind != SearchKind::kScoring;
}

/// Returns the attention heads whose weights the scorers of a model return. Of a decoder without the layer that the
/// config names, it is the last layer.
CrossHeads heads_of(const ModelFiles& model, const TranslatorOptions& options) {
  CrossHeads heads = options.search ? options.search->recorded_heads : model.experiment.search.recorded_heads;
  if (options.depth.layers && heads.layer >= *options.depth.layers) heads.layer = -1;
  return {options.attention_layer.value_or(heads.layer), options.attention_head.value_or(heads.head)};
}

ScorerFactory make_ensemble(std::vector<ModelFiles> models, const TranslatorOptions& options) {
  const std::optional<std::int64_t> gpu = choose_gpu({"Translator: device", options.device});
  std::vector<ScorerFactory> factories;
  factories.reserve(models.size());
  for (ModelFiles& model : models) {
    const CrossHeads heads = heads_of(model, options);
    factories.push_back(gpu ? make_gpu_scorer_factory(std::move(model), options.precision, heads, options.stop, *gpu)
                            : make_runtime_scorer_factory(std::move(model), options.precision, heads, options.stop));
  }
  if (factories.size() == 1) return std::move(factories.front());
  return [factories = std::move(factories)] {
    std::vector<std::unique_ptr<Scorer>> members;
    for (const ScorerFactory& make_member : factories) members.push_back(make_member());
    return std::make_unique<EnsembleScorer>(std::move(members));
  };
}

}  // namespace

LoadedModels load_models(std::vector<ModelFiles> models, const TranslatorOptions& options) {
  for (const ModelFiles& model : models) {
    check(has_encoder(model.experiment.model.kind),
          "translate: {} has a language model, needs one that translates; `edgewise generate` writes with it",
          model.parameters_name);
  }
  TextCodec codec = make_codec(models);
  SearchOptions search = models.front().experiment.search;
  for (ModelFiles& model : models) {
    if (!uses_shortlists(options, search)) model.shortlist.reset();
    set_decoder_depth(model, options.depth, "Translator");
  }
  return {
      .codec = std::move(codec), .search = std::move(search), .make_scorer = make_ensemble(std::move(models), options)};
}

TranslationEngine::TranslationEngine(std::vector<ModelFiles> models, const TranslatorOptions& options)
    : TranslationEngine(load_models(std::move(models), options), options) {}

TranslationEngine::TranslationEngine(LoadedModels models, TranslatorOptions options)
    : codec_(std::move(models.codec)),
      search_(options.search.value_or(std::move(models.search))),
      make_scorer_(std::move(models.make_scorer)),
      options_(std::move(options)) {
  apply_options();
}

TranslationEngine::TranslationEngine(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options)
    : TranslationEngine(LoadedModels{std::move(codec), {}, std::move(make_scorer)}, std::move(options)) {}

void TranslationEngine::apply_options() {
  check(options_.workers >= 1, "Translator: workers is {}, needs at least 1", options_.workers);
  check(options_.threads >= 0, "Translator: threads is {}, needs at least 0", options_.threads);
  check(options_.max_pending_sentences >= 1, "Translator: max_pending_sentences is {}, needs at least 1",
        options_.max_pending_sentences);
  check(options_.max_pending_tokens >= 1, "Translator: max_pending_tokens is {}, needs at least 1",
        options_.max_pending_tokens);
  codec_.max_input = options_.max_input.value_or(codec_.max_input);
  const Range max_input_range = range_of<DataOptions>("max_length");
  check(max_input_range.contains(static_cast<double>(codec_.max_input)),
        "Translator: max_input is {}, needs a whole number{}", codec_.max_input, max_input_range.text());
  const SearchOptions before = search_;
  search_.beam = options_.beam.value_or(search_.beam);
  search_.n_best = options_.n_best.value_or(search_.n_best);
  search_.length_penalty = options_.length_penalty.value_or(search_.length_penalty);
  check_effects(search_, before, "Translator");
  apply_vocabulary_rules();
  search_.attention = options_.alignment;
  if (codec_.max_positions > 0) {
    search_.max_length = smaller_limit(search_.max_length, max_length_for(search_, codec_.max_positions));
  }
  codec_.limit_input(codec_.max_input);
  codec_.has_alignments = options_.alignment;
  // A given output has its own form of all text, which scoring keeps.
  codec_.is_protecting = options_.protect && search_.kind != SearchKind::kScoring;
  if (codec_.is_protecting) search_.once = codec_.placeholders.output;
  // Scoring does not split long inputs, because the given output cannot be split into the parts that belong to them.
  if (search_.kind == SearchKind::kScoring) codec_.max_input = 0;
  check_options(search_, codec_.vocabularies.output->size());
  if (options_.threads == 0) options_.threads = std::max(num_threads() / options_.workers, 1);
}

void TranslationEngine::apply_vocabulary_rules() {
  const auto& [input, output] = options_.languages;
  if (!input.empty()) codec_.languages.input = input;
  if (!output.empty()) codec_.languages.output = output;
  check_sentence_options(*codec_.vocabularies.input, *codec_.vocabularies.output, codec_.end_input, codec_.languages,
                         "Translator");
  const SentenceRules& rules = codec_.vocabularies.output->rules();
  codec_.known = KnownCharacters(codec_.vocabularies.input);
  codec_.placeholders = find_placeholders(*codec_.vocabularies.input, *codec_.vocabularies.output);
  search_.begin_token = rules.special.begin;
  search_.end_token = rules.special.end;
  for (const std::int64_t token : rules.forbidden) {
    const bool is_allowed = options_.allow_unknown && token == rules.special.unknown;
    if (!is_allowed) search_.never.push_back(token);
  }
}

std::unique_ptr<Scorer> TranslationEngine::borrow_scorer() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_scorers_.empty()) {
      std::unique_ptr<Scorer> scorer = std::move(idle_scorers_.back());
      idle_scorers_.pop_back();
      return scorer;
    }
  }
  std::unique_ptr<Scorer> scorer = make_scorer_();
  check(scorer->vocabulary_size() == codec_.vocabularies.output->size(),
        "Translator: the model has {} output tokens, needs the {} of the vocabulary", scorer->vocabulary_size(),
        codec_.vocabularies.output->size());
  return scorer;
}

void TranslationEngine::return_scorer(std::unique_ptr<Scorer> scorer) {
  const std::lock_guard lock(mutex_);
  idle_scorers_.push_back(std::move(scorer));
}

void TranslationEngine::run(SearchQueue& queue) {
  const NumThreadsScope threads(options_.threads);
  std::unique_ptr<Scorer> scorer = borrow_scorer();
  search(*scorer, queue, search_, options_.capacity);
  return_scorer(std::move(scorer));
}

}  // namespace edgewise
