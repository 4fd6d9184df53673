// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translator.h"

#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"

namespace edgewise {

Translator::Translator(const std::filesystem::path& model, const TranslatorOptions& options)
    : Translator(read_models({model.string()}, "Translator"), options) {}

Translator::Translator(std::vector<ModelFiles> models, const TranslatorOptions& options)
    : engine_(std::make_shared<TranslationEngine>(std::move(models), options)) {}

Translator::Translator(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options)
    : engine_(std::make_shared<TranslationEngine>(std::move(codec), std::move(make_scorer), std::move(options))) {}

CallOptions Translator::call_options() const {
  return {.n_best = engine_->search_options().n_best, .keeps_order = true};
}

void Translator::translate(const SentenceSource& next, const TranslationSink& take,
                           const std::function<void()>& interrupt) {
  TranslationService service(engine_);
  CallOptions options = call_options();
  options.max_sentences = engine_->options().max_pending_sentences;
  options.max_tokens = engine_->options().max_pending_tokens;
  TranslationCall call(service, options);
  const auto put_all = [&] {
    try {
      while (const auto request = next()) call.put(*request);
      call.complete();
    } catch (...) {
      call.complete(std::current_exception());
    }
    service.close();
  };
  std::exception_ptr error;
  const auto take_all = [&] {
    try {
      while (const auto translation = call.next()) take(translation->second);
    } catch (...) {
      error = std::current_exception();
      call.cancel();
      if (interrupt) interrupt();
    }
  };
  {
    std::vector<std::jthread> threads;  // joined at the end of this scope
    const auto start = [&](auto run) {
      auto thread = try_start_thread(run);
      if (!thread) call.complete();
      check(thread.has_value(), "translate: the system refuses to start a thread, needs two; {}", kRaiseProcessLimit);
      threads.push_back(std::move(*thread));
    };
    start(take_all);
    start(put_all);
    service.run();
  }
  if (error) std::rethrow_exception(error);
}

std::vector<Translation> Translator::translate(std::span<const TranslationRequest> sentences) {
  TranslationService service(engine_);
  TranslationCall call(service, call_options());
  for (const TranslationRequest& sentence : sentences) call.put(sentence);
  service.close();
  service.run();
  std::vector<Translation> translations;
  translations.reserve(sentences.size());
  while (translations.size() < sentences.size()) translations.push_back(std::move(call.next()->second));
  return translations;
}

Translation Translator::translate(std::string_view sentence) {
  const TranslationRequest request{std::string(sentence)};
  return std::move(translate(std::span(&request, 1)).front());
}

}  // namespace edgewise
