// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "edgewise/server/http.h"
#include "edgewise/server/metrics.h"
#include "edgewise/translate/translation_service.h"

namespace edgewise {

/// Receives the translation of sentence `index` of a request as soon as the translation is complete. May change it: the
/// request then has the changed translation.
using SentenceSink = std::function<void(std::size_t index, Translation& translation)>;

/// Waits for translations in the thread of a handler, until the client of the exchange is gone or the time for its
/// request is over.
class RequestWait {
 public:
  using Clock = std::chrono::steady_clock;

  /// The metrics count the waits of sentences, and the tokens of complete translations.
  RequestWait(HttpExchange& exchange, Clock::time_point deadline, Metrics& metrics);

  /// Translates sentences, at least one, and calls `sink`, which may be empty, in this thread. Throws RequestError with
  /// status 429 if the request does not fit beside the others, and with status 504 behind the deadline; StopException
  /// if the client is gone; and as TranslationService::submit does. After an exception, also one from `sink`, the
  /// sentences are no longer translated.
  std::vector<Translation> translate(TranslationService& service, ServiceRequest request, const SentenceSink& sink);

 private:
  struct Client;
  struct Call;
  using SearchedSink = std::function<void(std::size_t index, const SearchedSentence& searched)>;

  void wait(Call& call, const SearchedSink& decode);

  std::shared_ptr<Client> client_;
  Clock::time_point deadline_;
  Metrics& metrics_;
};

}  // namespace edgewise
