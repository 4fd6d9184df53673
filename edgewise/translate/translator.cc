// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translator.h"

#include <limits>
#include <string>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/translate/sentence_queue.h"

namespace edgewise {

Translator::Translator(const std::filesystem::path& model, const TranslatorOptions& options)
    : Translator(read_models({model.string()}, "Translator"), options) {}

Translator::Translator(std::vector<ModelFiles> models, const TranslatorOptions& options)
    : engine_(std::move(models), options) {}

Translator::Translator(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options)
    : engine_(std::move(codec), std::move(make_scorer), std::move(options)) {}

void Translator::run_worker(SentenceQueue& queue) {
  try {
    engine_.run(queue);
    queue.abort_if_requested();
  } catch (...) {
    queue.abort(std::current_exception());
  }
}

void Translator::fill(const SentenceSource& next, SentenceQueue& queue) const {
  try {
    while (const auto request = next()) {
      if (!queue.put(engine_.encode(*request))) return;
    }
    queue.close();
  } catch (...) {
    queue.close(std::current_exception());
  }
}

void Translator::drain(SentenceQueue& queue, const TranslationSink& take) const {
  while (const auto translated = queue.take()) {
    take(engine_.codec().decode(translated->sentence, translated->results, engine_.search_options().n_best));
  }
}

/// Starts all workers but one, which the calling thread runs, because its team of threads exists already. Starts fewer
/// if the system refuses.
void Translator::start_other_workers(SentenceQueue& queue, std::vector<std::jthread>& threads) {
  for (int i = 1; i < engine_.options().workers; ++i) {
    auto thread = try_start_thread([this, &queue] { run_worker(queue); });
    if (!thread) return;
    threads.push_back(std::move(*thread));
  }
}

void Translator::translate(const SentenceSource& next, const TranslationSink& take,
                           const std::function<void()>& interrupt) {
  const TranslatorOptions& options = engine_.options();
  SentenceQueue queue({options.max_pending_sentences, options.max_pending_tokens}, options.stop);
  std::exception_ptr error;
  {
    std::vector<std::jthread> others;  // joined at the end of this scope
    const auto start = [&](auto run) {
      auto thread = try_start_thread(run);
      if (!thread) queue.abort(nullptr);
      check(thread.has_value(), "translate: the system refuses to start a thread, needs two; {}", kRaiseProcessLimit);
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
  SentenceQueue queue({kNoLimit, kNoLimit}, engine_.options().stop);
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
