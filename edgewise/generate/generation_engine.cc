// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/generation_engine.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

/// Returns the tokens that continuations may have: all but those that outputs of the vocabulary do not contain.
GenerationRules make_rules(const Vocabulary& vocabulary) {
  const SentenceRules& rules = vocabulary.rules();
  GenerationRules made = {.allowed = std::vector<std::uint8_t>(static_cast<std::size_t>(vocabulary.size()), 1),
                          .end_tokens = {rules.special.end}};
  made.end_tokens.insert(made.end_tokens.end(), rules.other_ends.begin(), rules.other_ends.end());
  for (const std::int64_t token : rules.forbidden) made.allowed[static_cast<std::size_t>(token)] = 0;
  for (const std::int64_t token : made.end_tokens) made.allowed[static_cast<std::size_t>(token)] = 1;
  return made;
}

}  // namespace

void check_generate_options(const GenerateOptions& options, const char* caller) {
  check_ranges(options, caller);
  static_cast<void>(StopStrings(options.stop));
}

ContinuedText::ContinuedText(const Vocabulary& vocabulary, GenerationInput input, const std::vector<std::string>& stop)
    : input_(std::move(input)), stop_(std::make_unique<const StopStrings>(stop)) {
  const TokenDecoder text(vocabulary, std::span(input_.prompt).subspan(1));
  for (std::int64_t i = 0; i < input_.samples; ++i) samples_.push_back({text, StopFilter(*stop_)});
}

GeneratedPiece ContinuedText::put_token(std::int64_t sample, std::int64_t token) {
  Sample& continued = at(sample);
  ++continued.tokens;
  return {.sample = sample, .text = continued.filter.push(continued.text.push(token)), .tokens = continued.tokens};
}

GeneratedPiece ContinuedText::put_end(std::int64_t sample, FinishReason reason) {
  Sample& continued = at(sample);
  std::string rest = continued.filter.push(continued.text.finish());
  rest += continued.filter.finish();
  if (continued.filter.is_stopped()) reason = FinishReason::kStop;
  return {.sample = sample, .text = std::move(rest), .tokens = continued.tokens, .end = reason};
}

GenerationEngine::GenerationEngine(ModelFiles model, const GeneratorOptions& options)
    : GenerationEngine(model.codec.vocabularies.output, model.experiment.model.num_learned_positions(), {}, options) {
  const ModelKind kind = model.experiment.model.kind;
  check(kind == ModelKind::kLanguageModel, "generate: {} has a {}, needs a language model; translate with it",
        model.parameters_name, model_name(kind));
  make_scorer_ = make_runtime_scorer_factory(std::move(model), options.precision, {}, options.stop);
}

GenerationEngine::GenerationEngine(std::shared_ptr<const Vocabulary> vocabulary, std::int64_t max_positions,
                                   ScorerFactory make_scorer, const GeneratorOptions& options)
    : options_(options),
      vocabulary_(std::move(vocabulary)),
      max_positions_(max_positions),
      rules_(make_rules(*vocabulary_)),
      make_scorer_(std::move(make_scorer)) {
  check(options.capacity >= 1, "generate: capacity is {}, needs at least 1", options.capacity);
  check(options.threads >= 0, "generate: threads is {}, needs at least 0", options.threads);
  if (options_.threads == 0) options_.threads = num_threads();
}

ContinuedText GenerationEngine::begin(const GenerationRequest& request) const {
  const GenerateOptions& options = request.options;
  check_generate_options(options, "generate");
  const auto bad = find_bad_utf8(request.prompt);
  check(!bad, "generate: the prompt has a byte at {} that is not UTF-8, needs UTF-8", bad.value_or(0));
  GenerationInput input = {
      .prompt = {vocabulary_->special().begin},
      .samples = options.samples,
      .max_tokens = options.max_tokens,
      .context = max_positions_,
      .sampling = {options.temperature, options.top_k, options.top_p, options.min_p},
      .repetition_penalty = options.repetition_penalty,
      .ignore_end = options.ignore_end,
      .seed = options.seed,
  };
  const Tokens tokens = vocabulary_->encode(request.prompt);
  input.prompt.insert(input.prompt.end(), tokens.begin(), tokens.end());
  return {*vocabulary_, std::move(input), options.stop};
}

std::unique_ptr<Scorer> GenerationEngine::borrow_scorer() {
  const std::lock_guard lock(mutex_);
  if (idle_scorers_.empty()) return make_scorer_();
  std::unique_ptr<Scorer> scorer = std::move(idle_scorers_.back());
  idle_scorers_.pop_back();
  return scorer;
}

void GenerationEngine::run(GenerationQueue& queue) {
  const NumThreadsScope threads(options_.threads);
  std::unique_ptr<Scorer> scorer = borrow_scorer();
  edgewise::generate(*scorer, queue, rules_, options_.capacity);
  const std::lock_guard lock(mutex_);
  idle_scorers_.push_back(std::move(scorer));
}

}  // namespace edgewise
