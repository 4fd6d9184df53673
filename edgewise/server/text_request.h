// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/server/api_keys.h"
#include "edgewise/server/http.h"
#include "edgewise/server/metrics.h"
#include "edgewise/server/model_registry.h"
#include "edgewise/server/server_config.h"
#include "edgewise/translate/html/html_document.h"
#include "edgewise/translate/text_translator.h"
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
  /// status 504 after the deadline; StopException if the client is gone; and as TranslationService::encode does. After
  /// an exception, also one from `sink`, the sentences are no longer translated.
  std::vector<Translation> translate(TranslationService& service, std::span<const TranslationRequest> sentences,
                                     CallOptions options, const SentenceSink& sink);

 private:
  std::stop_source client_is_gone_;
  Clock::time_point deadline_;
  Metrics& metrics_;
};

enum class TextFormat { kText, kHtml };

inline constexpr auto enum_names(TextFormat) {
  return std::array{EnumName{TextFormat::kText, "text"}, EnumName{TextFormat::kHtml, "html"}};
}

/// The language of a text, from which it is translated.
struct SourceLanguage {
  std::string code;
  std::optional<double> confidence = {};  // from 0 to 100; nothing if the client names the language
};

/// Texts that a client wants to be translated, whatever the interface of the server.
struct TextRequest {
  std::string client = {};  // clients take turns
  std::vector<std::string> texts = {};
  TextFormat format = TextFormat::kText;
  MarkupOptions markup = {};  // syntax of HTML
  LineBreaks line_breaks = LineBreaks::kEnd;
  std::int64_t alternatives = 0;
  std::vector<SourceLanguage> sources = {};  // language of each text
  std::string target = {};                   // code of the language into which all are translated
  std::vector<Route> routes = {};            // route of each text
  std::optional<ApiKey> key = {};            // the client's
  int status_over_quota = 403;               // the status of the response if the quota of the key is used up
};

/// A sentence whose translation is complete, maybe before those of other sentences.
struct StreamedSentence {
  std::size_t text;          // number of the text
  std::size_t number;        // number of the sentence in its text, without sentences that are copied
  std::string_view gap;      // text between the sentence and the one before
  Translation& translation;  // the receiver may remove all of its outputs but their texts
};

/// Receives the sentences of a request, in any order.
using StreamSink = std::function<void(const StreamedSentence& sentence)>;

/// Throws Error for more texts, longer texts or more alternatives than the options allow. The errors have the texts of
/// LibreTranslate.
void check_limits(const TextRequest& request, const ServerOptions& options);

/// Translates the texts, the sentences of all texts of a language together. Texts that need no model are copied; HTML
/// has neither alternatives nor sentences. The sink, which may be empty, receives the sentences that the last model of
/// a text translates, but not those of HTML. Throws as RequestWait::translate does.
std::vector<TextTranslation> translate(const TextRequest& request, RequestWait& wait, const StreamSink& sink = {});

/// Returns whole texts with other outputs of their sentences: the second outputs of all sentences, the third ones, and
/// so on, at most `count`. A sentence that has fewer outputs keeps its last one.
std::vector<std::string> alternatives_of(const TextTranslation& translation, std::int64_t count);

}  // namespace edgewise
