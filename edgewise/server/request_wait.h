// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stop_token>
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
  using Clock = TranslationCall::Clock;

  /// The metrics count the waits of sentences, and the tokens of complete translations.
  RequestWait(HttpExchange& exchange, Clock::time_point deadline, Metrics& metrics);

  /// Translates sentences for the client and with the n_best of `options`, and calls `sink`, which may be empty, in
  /// this thread. Throws RequestError with status 429 if the sentences do not fit beside those of others, and with
  /// status 504 behind the deadline; StopException if the client is gone; and as TranslationService::encode does. After
  /// an exception, also one from `sink`, the sentences are no longer translated.
  std::vector<Translation> translate(TranslationService& service, std::span<const TranslationRequest> sentences,
                                     CallOptions options, const SentenceSink& sink);

 private:
  std::stop_source client_is_gone_;
  Clock::time_point deadline_;
  Metrics& metrics_;
};

}  // namespace edgewise
