// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/json.h"
#include "edgewise/server/text_request.h"
#include "edgewise/server/translation_endpoint.h"
#include "edgewise/translate/translation_json.h"

namespace edgewise {

/// A request to /v1/translate.
struct NativeRequest {
  TextRequest texts;
  RequestLanguages languages;
  TranslationMembers members = {.has_alignments = true, .has_attention = false};
  bool is_stream = false;
};

/// Writes the response of /v1/translate (native.h) as JSON, sentence by sentence, so that no more than one copy of the
/// tokens and attention weights of a request exists. The functions throw RequestError with status 400 if the response
/// has more bytes than the limit.
class NativeResponse {
 public:
  /// The request must outlive the response.
  NativeResponse(const NativeRequest& request, std::int64_t max_bytes);

  /// Returns the event of a sentence of a stream. Removes what the event has from the translation.
  std::string event_of(const StreamedSentence& sentence);

  /// Keeps a sentence for text(). Removes what it keeps from the translation.
  void keep(const StreamedSentence& sentence);

  /// Returns the whole response, or, after a stream, what its events do not have.
  std::string text(const std::vector<TextTranslation>& results);

 private:
  std::string take(JsonObject json, Translation& translation);
  std::string sentences_json(const TextTranslation& result, std::size_t number_of_text);
  std::string sentence_json(const TextSentence& sentence, std::string_view input, std::size_t text, std::size_t& next);
  std::string result_json(const TextTranslation& result, std::size_t number_of_text);
  void count(std::size_t bytes);

  const NativeRequest& request_;
  std::int64_t max_bytes_;
  std::int64_t num_bytes_ = 0;
  std::vector<std::vector<std::string>> kept_;  // JSON of the translated sentences of each text
};

}  // namespace edgewise
