// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translator.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/search/ensemble_scorer.h"
#include "edgewise/translate/sentence_queue.h"

namespace edgewise {
namespace {

/// Returns the smaller of two limits, of which 0 is none.
std::int64_t smaller_limit(std::int64_t a, std::int64_t b) { return a == 0 || b == 0 ? a + b : std::min(a, b); }

const ModelFiles& first_model(const std::vector<ModelFiles>& models) {
  check(!models.empty(), "Translator: models is empty, needs at least one");
  return models.front();
}

/// Returns the codec of the first model, with positions for all models.
TextCodec make_codec(const std::vector<ModelFiles>& models) {
  TextCodec codec = first_model(models).codec;
  for (const ModelFiles& model : models) {
    codec.max_positions = smaller_limit(codec.max_positions, model.codec.max_positions);
  }
  return codec;
}

ScorerFactory make_ensemble(std::vector<ModelFiles> models, const TranslatorOptions& options) {
  std::vector<ScorerFactory> factories;
  factories.reserve(models.size());
  for (ModelFiles& model : models) {
    factories.push_back(
        make_runtime_scorer_factory(std::move(model), options.precision, options.recorded_heads, options.stop));
  }
  if (factories.size() == 1) return std::move(factories.front());
  return [factories = std::move(factories)] {
    std::vector<std::unique_ptr<Scorer>> members;
    for (const ScorerFactory& make_member : factories) members.push_back(make_member());
    return std::make_unique<EnsembleScorer>(std::move(members));
  };
}

}  // namespace

Translator::Translator(const std::filesystem::path& model, TranslatorOptions options)
    : Translator(read_models({model.string()}, "Translator"), std::move(options)) {}

Translator::Translator(std::vector<ModelFiles> models, TranslatorOptions options)
    : codec_(make_codec(models)),
      search_(options.search.value_or(models.front().experiment.search)),
      make_scorer_(make_ensemble(std::move(models), options)),
      options_(std::move(options)) {
  apply_options();
}

Translator::Translator(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options)
    : codec_(std::move(codec)),
      search_(options.search.value_or(SearchOptions())),
      make_scorer_(std::move(make_scorer)),
      options_(std::move(options)) {
  apply_options();
}

void Translator::apply_options() {
  check(options_.workers >= 1, "Translator: workers is {}, at least 1 is needed", options_.workers);
  check(options_.threads >= 0, "Translator: threads is {}, at least 0 is needed", options_.threads);
  check(options_.max_pending_sentences >= 1, "Translator: max_pending_sentences is {}, at least 1 is needed",
        options_.max_pending_sentences);
  check(options_.max_pending_tokens >= 1, "Translator: max_pending_tokens is {}, at least 1 is needed",
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
  // Scoring does not split long inputs, because the given output cannot be split into the parts that belong to them.
  if (search_.kind == SearchKind::kScoring) codec_.max_input = 0;
  check_options(search_, codec_.vocabularies.output->size());
  if (options_.threads == 0) options_.threads = std::max(num_threads() / options_.workers, 1);
}

void Translator::apply_vocabulary_rules() {
  const auto& [input, output] = options_.languages;
  if (!input.empty()) codec_.languages.input = input;
  if (!output.empty()) codec_.languages.output = output;
  check_sentence_options(*codec_.vocabularies.input, *codec_.vocabularies.output, codec_.end_input, codec_.languages,
                         "Translator");
  const SentenceRules& rules = codec_.vocabularies.output->rules();
  search_.begin_token = rules.special.begin;
  search_.end_token = rules.special.end;
  for (const std::int64_t token : rules.forbidden) {
    const bool is_allowed = options_.allow_unknown && token == rules.special.unknown;
    if (!is_allowed) search_.never.push_back(token);
  }
}

std::unique_ptr<Scorer> Translator::borrow_scorer() {
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
        "Translator: the model has {} output tokens, but the vocabulary has {}; they must be equal",
        scorer->vocabulary_size(), codec_.vocabularies.output->size());
  return scorer;
}

void Translator::return_scorer(std::unique_ptr<Scorer> scorer) {
  const std::lock_guard lock(mutex_);
  idle_scorers_.push_back(std::move(scorer));
}

void Translator::run_worker(SentenceQueue& queue) {
  try {
    const NumThreadsScope threads(options_.threads);
    std::unique_ptr<Scorer> scorer = borrow_scorer();
    search(*scorer, queue, search_, options_.capacity);
    queue.abort_if_requested();
    return_scorer(std::move(scorer));
  } catch (...) {
    queue.abort(std::current_exception());
  }
}

void Translator::fill(const SentenceSource& next, SentenceQueue& queue) const {
  try {
    while (const auto request = next()) {
      if (!queue.put(codec_.encode(*request, options_.long_inputs))) return;
    }
    queue.close();
  } catch (...) {
    queue.close(std::current_exception());
  }
}

void Translator::drain(SentenceQueue& queue, const TranslationSink& take) const {
  while (const auto translated = queue.take()) {
    take(codec_.decode(translated->sentence, translated->results, search_.n_best));
  }
}

/// Starts all workers but one, which the calling thread runs, because its team of threads exists already. Starts fewer
/// if the system refuses.
void Translator::start_other_workers(SentenceQueue& queue, std::vector<std::jthread>& threads) {
  for (int i = 1; i < options_.workers; ++i) {
    auto thread = try_start_thread([this, &queue] { run_worker(queue); });
    if (!thread) return;
    threads.push_back(std::move(*thread));
  }
}

void Translator::translate(const SentenceSource& next, const TranslationSink& take,
                           const std::function<void()>& interrupt) {
  SentenceQueue queue({options_.max_pending_sentences, options_.max_pending_tokens}, options_.stop);
  std::exception_ptr error;
  {
    std::vector<std::jthread> others;  // joined at the end of this scope
    const auto start = [&](auto run) {
      auto thread = try_start_thread(run);
      if (!thread) queue.abort(nullptr);
      check(thread.has_value(),
            "translate: the system refuses to start a thread, needs two; raise its limit of "
            "processes (ulimit -u, or pids.max of the control group)");
      others.push_back(std::move(*thread));
    };
    start([&] {
      try {
        drain(queue, take);
      } catch (...) {
        error = std::current_exception();
        queue.abort(nullptr);
        if (interrupt) interrupt();
      }
    });
    start([&] { fill(next, queue); });
    start_other_workers(queue, others);
    run_worker(queue);
  }
  if (error) std::rethrow_exception(error);
}

std::vector<Translation> Translator::translate(std::span<const TranslationRequest> sentences) {
  constexpr auto kNoLimit = std::numeric_limits<std::int64_t>::max();
  SentenceQueue queue({kNoLimit, kNoLimit}, options_.stop);
  std::size_t next = 0;
  fill(
      [&]() -> std::optional<TranslationRequest> {
        if (next == sentences.size()) return std::nullopt;
        return sentences[next++];
      },
      queue);
  {
    std::vector<std::jthread> others;  // joined at the end of this scope
    start_other_workers(queue, others);
    run_worker(queue);
  }
  std::vector<Translation> translations;
  drain(queue, [&](const Translation& translation) { translations.push_back(translation); });
  return translations;
}

Translation Translator::translate(std::string_view sentence) {
  const TranslationRequest request{std::string(sentence)};
  return std::move(translate(std::span(&request, 1)).front());
}

}  // namespace edgewise
