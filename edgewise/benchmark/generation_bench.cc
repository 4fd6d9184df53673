// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/generation_bench.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/sorting.h"
#include "edgewise/benchmark/random_tokens.h"
#include "edgewise/benchmark/timing.h"
#include "edgewise/models/model_costs.h"
#include "edgewise/models/sequence_model.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/search/generation.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kGenerationSeed = 1;

TransformerOptions generation_model_options(const GenerationBenchOptions& options) {
  TransformerOptions model = bench_language_model_options(options.size);
  model.relation = options.relation;
  return check_options(model, "bench generate");
}

/// Packs a model with random parameters, which are then discarded.
RuntimeModel make_random_model(const TransformerOptions& model, RuntimePrecision precision) {
  const ListedTensors listed = list_tensors(make_model(model, kGenerationSeed)->parameters());
  return {model, SafetensorsFile::list(listed.infos), "random", precision};
}

std::vector<Tokens> random_prompts(const GenerationBenchOptions& options, std::int64_t vocabulary) {
  RandomStream random(kGenerationSeed);
  std::vector<Tokens> prompts(static_cast<std::size_t>(options.sequences));
  for (Tokens& prompt : prompts) {
    prompt.resize(static_cast<std::size_t>(options.prompt));
    draw_tokens(vocabulary, random, prompt);
  }
  return prompts;
}

/// Texts that begin together and are continued by as many tokens, and the moments at which the first text gets tokens.
class TimedTexts : public GenerationQueue {
 public:
  using Clock = std::chrono::steady_clock;

  /// Each text gets one more token than `tokens`, because the first one follows from the prompt.
  TimedTexts(const std::vector<Tokens>& prompts, std::int64_t tokens)
      : prompts_(prompts), tokens_(tokens), continuations_(prompts.size()), moments_({Clock::now()}) {}

  std::optional<GenerationInput> next(bool /*is_busy*/) override {
    if (next_ == prompts_.size()) return std::nullopt;
    const auto id = static_cast<std::int64_t>(next_);
    return GenerationInput{.id = id,
                           .prompt = prompts_[next_++],
                           .max_tokens = tokens_ + 1,
                           .sampling = {.temperature = 0},
                           .ignore_end = true};
  }

  bool put_token(std::int64_t id, std::int64_t /*sample*/, std::int64_t token) override {
    if (id == 0) moments_.push_back(Clock::now());
    continuations_[static_cast<std::size_t>(id)].push_back(token);
    return true;
  }

  void put_end(std::int64_t /*id*/, std::int64_t /*sample*/, FinishReason /*reason*/) override {}

  const std::vector<Tokens>& continuations() const { return continuations_; }

  /// Returns the seconds from the start to the first token, then from each token to the next one.
  std::vector<double> seconds() const {
    std::vector<double> seconds;
    for (std::size_t i = 1; i < moments_.size(); ++i) {
      seconds.push_back(std::chrono::duration<double>(moments_[i] - moments_[i - 1]).count());
    }
    return seconds;
  }

 private:
  const std::vector<Tokens>& prompts_;
  std::int64_t tokens_;
  std::size_t next_ = 0;
  std::vector<Tokens> continuations_;
  std::vector<Clock::time_point> moments_;
};

/// A warm-up is a text of the timed prompts' first tokens: prompts of a million tokens are computed once only.
void run_warmup(Scorer& scorer, std::vector<Tokens> prompts, const GenerationRules& rules) {
  constexpr std::size_t kPromptTokens = 256;
  constexpr std::int64_t kTokens = 8;
  for (Tokens& prompt : prompts) prompt.resize(std::min(prompt.size(), kPromptTokens));
  TimedTexts texts(prompts, kTokens);
  generate(scorer, texts, rules, std::ssize(prompts));
}

double total_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

GenerationBench measure_generation(const GenerationBenchOptions& options) {
  const TransformerOptions model_options = generation_model_options(options);
  const RuntimeModel model = make_random_model(model_options, options.precision);
  reset_peak_memory();
  const std::vector<Tokens> prompts = random_prompts(options, model_options.output_vocabulary);
  const GenerationRules rules = {
      .allowed = std::vector<std::uint8_t>(static_cast<std::size_t>(model_options.output_vocabulary), 1),
      .end_tokens = {SpecialTokens().end}};
  const std::unique_ptr<Scorer> scorer = model.make_scorer();
  run_warmup(*scorer, prompts, rules);

  GenerationBench bench;
  bench.parameters = count_parameters(model_options);
  std::vector<double> prompt_seconds;
  std::vector<double> continuation_seconds;
  std::vector<double> steps;
  std::vector<Tokens> first;
  std::optional<Profile> profile;
  if (options.is_profiled) profile.emplace();
  for (std::int64_t i = 0; i < options.repetitions; ++i) {
    TimedTexts texts(prompts, options.tokens);
    generate(*scorer, texts, rules, options.sequences);
    std::vector<double> seconds = texts.seconds();
    bench.seconds += total_of(seconds);
    prompt_seconds.push_back(seconds.front());
    seconds.erase(seconds.begin());
    continuation_seconds.push_back(total_of(seconds));
    steps.insert(steps.end(), seconds.begin(), seconds.end());
    if (i == 0) first = texts.continuations();
    check(texts.continuations() == first,
          "bench generate: repetition {} gives other tokens than the first one, needs "
          "the same; no time is shown",
          i + 1);
  }
  if (profile) bench.profile = profile->lines();
  bench.prompt_seconds = median(std::move(prompt_seconds));
  bench.continuation_seconds = median(std::move(continuation_seconds));
  bench.median_step = median(std::move(steps));
  bench.peak_memory = peak_memory();
  return bench;
}

}  // namespace edgewise
