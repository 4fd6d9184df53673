// SPDX-License-Identifier: Apache-2.0
#include "service_call.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "edgewise/base/stop_request.h"
#include "process_end.h"

namespace edgewise::python {
namespace {

/// The most sentences of a list that are in a service at a time: many batches, so that a long sentence at the beginning
/// does not hold up the others.
constexpr std::int64_t kMostSentences = 1024;

}  // namespace

std::string new_client() {
  static std::atomic<std::int64_t> next = 0;
  return std::to_string(next++);
}

ServiceCall::ServiceCall(std::shared_ptr<TranslationService> service, const ResultOptions& options)
    : service_(std::move(service)),
      has_attention_(options.attention),
      call_(*service_, {.client = new_client(), .n_best = options.n_best, .keeps_order = true}) {}

void ServiceCall::put(const TranslationRequest& sentence) {
  std::vector<TokenizedSentence> sentences;
  sentences.push_back(service_->encode(sentence));
  const auto is_in = [&] { return call_.try_put(sentences); };
  while (!until_process_end(is_in)) {
    if (is_process_ending()) wait_for_process_end();
    std::this_thread::sleep_for(kSignalInterval);
    signal_clock_.run_handlers_if_due();
  }
  signal_clock_.run_handlers_if_due();
}

Translation ServiceCall::take() {
  const auto is_ready = [&] { return call_.wait_until(TranslationCall::Clock::now() + kSignalInterval); };
  while (handles_signals() && !is_ready()) run_signal_handlers();
  Translation translation = std::move(until_process_end([&] { return call_.next(); })->second);
  if (!has_attention_) {
    for (TranslatedText& output : translation.outputs) output.attention = {};
  }
  return translation;
}

std::vector<Translation> translate_all(std::shared_ptr<TranslationService> service,
                                       std::span<const TranslationRequest> sentences, const ResultOptions& options) {
  ServiceCall call(std::move(service), options);
  std::vector<Translation> translations;
  translations.reserve(sentences.size());
  for (const TranslationRequest& sentence : sentences) {
    if (call.size() == kMostSentences) translations.push_back(call.take());
    call.put(sentence);
  }
  while (call.size() > 0) translations.push_back(call.take());
  return translations;
}

}  // namespace edgewise::python
